-- name: WHERE over measures | trades
SELECT symbol, n FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts MEASURES COUNT(*) AS n, MAX(X.price) AS top PATTERN (X+) DEFINE X AS price IS NOT NULL
) WHERE n > 1 AND top < 10
-- by hand: [('B', 3)]

-- name: expressions over measures | trades
SELECT symbol, top - low AS spread, CASE WHEN n > 1 THEN 'run' ELSE 'one' END AS kind, n * 10 AS ten FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES COUNT(*) AS n, MAX(X.price) AS top, MIN(X.price) AS low PATTERN (X+) DEFINE X AS price IS NOT NULL
) AS m
-- by hand: [('A', 5, 'run', 60), ('B', 0, 'one', 10), ('B', 3, 'run', 30)]

-- name: DISTINCT | nums
SELECT DISTINCT v FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES Y.v AS v AFTER MATCH SKIP TO NEXT ROW PATTERN (X+ Y) DEFINE Y AS v = 7
)
-- by hand: [(7,)]

-- name: rows in front | trades
SELECT * FROM (SELECT * FROM trades WHERE price IS NOT NULL AND volume >= 20) MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts MEASURES FIRST(X.ts) AS since, COUNT(*) AS n PATTERN (X Y+) DEFINE Y AS price > PREV(price)
)
-- by hand: [('A', 1, 2), ('A', 4, 2), ('B', 3, 2)]

-- name: columns in front | trades
SELECT * FROM (SELECT symbol, ts, price * volume AS worth FROM trades) AS w MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts MEASURES FIRST(worth) AS since, LAST(worth) AS until PATTERN (X Y+) DEFINE Y AS worth > PREV(worth)
)
-- rows: [('A', 130, 420), ('A', 600, 770), ('B', 180, 280)]

-- name: a table named in front | trades
WITH dear AS (SELECT symbol, ts, price FROM trades WHERE price > 6)
SELECT * FROM dear MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts MEASURES COUNT(*) AS n, FIRST(X.price) AS since PATTERN (X+) DEFINE X AS price > 0
)
-- by hand: [('A', 6, 10), ('B', 1, 7)]

-- name: two tables named in front | trades
WITH dear AS (SELECT * FROM trades WHERE price > 6), big AS (SELECT symbol, ts, price, volume / 10 AS tens FROM dear WHERE volume >= 30)
SELECT m.symbol, m.n + 1 AS more FROM big MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts MEASURES COUNT(*) AS n PATTERN (X+) DEFINE X AS price > 0
) AS m WHERE m.n > 1
-- by hand: [('A', 5)]

-- name: matches named in front | trades
WITH runs AS (
  SELECT * FROM trades MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY ts MEASURES X.ts AS since, LAST(Y.ts) AS until PATTERN (X Y+) DEFINE Y AS price > PREV(price)
  )
)
SELECT symbol, until - since AS span FROM runs WHERE symbol = 'A'
-- by hand: [('A', 1), ('A', 2)]

-- name: a SELECT around | nums
SELECT since FROM (
  SELECT * FROM nums MATCH_RECOGNIZE (
    ORDER BY id MEASURES FIRST(id) AS since, COUNT(*) AS n PATTERN (S C*) DEFINE C AS id = PREV(id) + 1
  )
) AS islands WHERE n = 3
-- by hand: [(1,), (8,)]

-- name: one over another | nums
SELECT * FROM (
  SELECT since, n FROM nums MATCH_RECOGNIZE (
    ORDER BY id MEASURES FIRST(id) AS since, COUNT(*) AS n PATTERN (S C*) DEFINE C AS id = PREV(id) + 1
  )
) MATCH_RECOGNIZE (
  ORDER BY since MEASURES A.since AS before_it, B.since AS at PATTERN (A B) DEFINE B AS n > A.n
)
-- by hand: [(5, 8)]

-- name: grouped | trades
SELECT symbol, COUNT(*) AS runs, SUM(n) AS rows_in_runs FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts MEASURES COUNT(*) AS n PATTERN (X+) DEFINE X AS price IS NOT NULL
) GROUP BY symbol HAVING COUNT(*) > 0
-- by hand: [('A', 1, 6), ('B', 2, 4)]

-- name: the longest | trades
SELECT symbol, n FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts MEASURES COUNT(*) AS n PATTERN (X+) DEFINE X AS price IS NOT NULL
) ORDER BY n DESC LIMIT 2
-- by hand: [('A', 6), ('B', 3)]

-- name: joined | trades
SELECT m.symbol, m.since, t.volume FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts MEASURES X.ts AS since PATTERN (X Y) DEFINE Y AS price > PREV(price)
) AS m JOIN trades AS t ON t.symbol = m.symbol AND t.ts = m.since
-- by hand: [('A', 1, 100), ('A', 4, 20), ('B', 3, 30)]

-- name: united | nums
SELECT 'up' AS way, id_a FROM nums MATCH_RECOGNIZE (ORDER BY id MEASURES A.id AS id_a PATTERN (A B) DEFINE B AS v > A.v + 3)
UNION ALL
SELECT 'down' AS way, id_a FROM nums MATCH_RECOGNIZE (ORDER BY id MEASURES A.id AS id_a PATTERN (A B) DEFINE B AS v < A.v - 3)
-- by hand: [('up', 6), ('down', 3), ('down', 8)]

-- name: numbered behind | trades
SELECT symbol, since, ROW_NUMBER() OVER (PARTITION BY symbol ORDER BY since) AS k FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts MEASURES X.ts AS since PATTERN (X Y) DEFINE Y AS price > PREV(price)
)
-- by hand: [('A', 1, 1), ('A', 4, 2), ('B', 3, 1)]

-- name: all rows, then filtered | nums
SELECT id, c FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES COUNT(*) AS c ALL ROWS PER MATCH PATTERN (X Y+) DEFINE Y AS v > PREV(v)
) WHERE c = 2
-- by hand: [(2, 2), (6, 2)]

-- name: falls that get longer | ticker
SELECT * FROM (
  SELECT symbol, n, until FROM ticker MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY tstamp MEASURES COUNT(*) AS n, LAST(tstamp) AS until
    PATTERN (A B+) DEFINE B AS price < PREV(price)
  ) WHERE n > 1
) MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY until MEASURES FIRST(n) AS first_n, LAST(n) AS last_n, COUNT(*) AS falls
  PATTERN (C D+) DEFINE D AS n >= PREV(n)
)
-- by hand: [('ACME', 2, 3, 4)]

-- name: a slow visit behind a quick one | clicks
WITH visits AS (
  SELECT customer, since, until, n FROM clicks MATCH_RECOGNIZE (
    PARTITION BY customer ORDER BY ts MEASURES FIRST(ts) AS since, LAST(ts) AS until, COUNT(*) AS n
    PATTERN (A B*) DEFINE B AS ts < PREV(ts) + INTERVAL '15' MINUTE
  )
)
SELECT customer, clicks_before FROM visits MATCH_RECOGNIZE (
  PARTITION BY customer ORDER BY until MEASURES Q.n AS clicks_before
  PATTERN (Q S) DEFINE S AS since > Q.until + INTERVAL '30' MINUTE
)
-- by hand: [('ann', 4), ('bob', 2)]

-- name: over the matches of all keys | trades
SELECT * FROM (
  SELECT symbol, since, low FROM trades MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY ts MEASURES FIRST(ts) AS since, LAST(Y.price) AS low
    PATTERN (X Y+) DEFINE Y AS price > PREV(price)
  )
) MATCH_RECOGNIZE (
  ORDER BY since, symbol MEASURES A.symbol AS one, B.symbol AS other, LAST(low) AS low
  PATTERN (A B) DEFINE B AS symbol <> A.symbol
)
-- rows: [('A', 'B', 7)]

-- name: rows of matches, matched again | nums
SELECT * FROM (
  SELECT id, v, c FROM nums MATCH_RECOGNIZE (
    ORDER BY id MEASURES COUNT(*) AS c ALL ROWS PER MATCH PATTERN (S C*) DEFINE C AS id = PREV(id) + 1
  )
) MATCH_RECOGNIZE (
  ORDER BY id MEASURES FIRST(id) AS since, COUNT(*) AS n PATTERN (A B+) DEFINE B AS c > PREV(c) AND v > PREV(v)
)
-- by hand: [(1, 3), (5, 2)]

-- name: three over one another | nums
SELECT pairs FROM (
  SELECT * FROM (
    SELECT until, n FROM nums MATCH_RECOGNIZE (
      ORDER BY id MEASURES LAST(id) AS until, COUNT(*) AS n PATTERN (S C*) DEFINE C AS id = PREV(id) + 1
    )
  ) MATCH_RECOGNIZE (
    ORDER BY until MEASURES LAST(until) AS last_one, COUNT(*) AS k PATTERN (A B?) DEFINE B AS n <> A.n
  )
) MATCH_RECOGNIZE (ORDER BY last_one MEASURES COUNT(*) AS pairs PATTERN (P+))
-- by hand: [(2,)]

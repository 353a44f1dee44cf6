-- name: value of trades | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES SUM(X.price * X.volume) AS total, SUM(X.volume) AS shares
  PATTERN (X+) DEFINE X AS price IS NOT NULL
)
-- by hand: [('A', 3100, 280), ('B', 50, 10), ('B', 480, 75)]

-- name: average price | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES AVG(X.price) AS mean, SUM(X.price * X.volume) / SUM(X.volume * 1.0) AS weighted
  PATTERN (X+) DEFINE X AS price IS NOT NULL
)
-- rows: [('A', 11.5, 11.071428571), ('B', 5.0, 5.0), ('B', 5.666666667, 6.4)]

-- name: COUNT(1) | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts MEASURES COUNT(1) AS n, COUNT(X.*) AS m, COUNT(price) AS k PATTERN (X+) DEFINE X AS price IS NOT NULL
)
-- by hand: [('A', 6, 6, 6), ('B', 1, 1, 1), ('B', 3, 3, 3)]

-- name: SUM(CASE) | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES SUM(CASE WHEN X.price > 10 THEN X.volume ELSE 0 END) AS dear
  PATTERN (X+) DEFINE X AS price IS NOT NULL
)
-- by hand: [('A', 160), ('B', 0), ('B', 0)]

-- name: FILTER | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES COUNT(*) FILTER (WHERE X.price > 10) AS dear, SUM(X.volume) FILTER (WHERE X.price <= 10) AS cheap
  PATTERN (X+) DEFINE X AS volume > 0
)
-- by hand: [('A', 4, 120), ('B', 0, 85)]

-- name: FILTER of what is unknown | readings
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY seq
  MEASURES COUNT(*) FILTER (WHERE R.temp > 30) AS hot, COUNT(*) FILTER (WHERE NOT R.temp > 30) AS cool, COUNT(*) AS n
  PATTERN (R+) DEFINE R AS seq > 0
)
-- by hand: [('s', 3, 3, 7), ('t', 0, 3, 3)]

-- name: FILTER in define | readings
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY seq
  MEASURES FIRST(seq) AS since, LAST(seq) AS until
  PATTERN (R+) DEFINE R AS COUNT(*) FILTER (WHERE temp > 30) <= 1
)
-- by hand: [('s', 1, 3), ('s', 4, 6), ('s', 7, 7), ('t', 1, 3)]

-- name: COUNT(DISTINCT) | readings
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY seq
  MEASURES COUNT(DISTINCT R.state) AS states PATTERN (R+) DEFINE R AS temp IS NOT NULL
)
-- by hand: [('s', 2), ('s', 1), ('t', 2)]

-- name: ARRAY_AGG | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts MEASURES ARRAY_AGG(X.price) AS prices PATTERN (X+) DEFINE X AS price IS NOT NULL
)
-- by hand: [('A', (10, 12, 11, 9, 13, 14)), ('B', (5,)), ('B', (6, 7, 4))]

-- name: MAX_BY and MIN_BY | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES MAX_BY(X.ts, X.price) AS dearest, MIN_BY(X.ts, X.price) AS cheapest
  PATTERN (X+) DEFINE X AS price IS NOT NULL
)
-- by hand: [('A', 6, 4), ('B', 1, 1), ('B', 4, 6)]

-- name: ARBITRARY | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts MEASURES ARBITRARY(X.symbol) AS whose, ANY_VALUE(X.symbol) AS whose_too
  PATTERN (X+) DEFINE X AS price IS NOT NULL
)
-- by hand: [('A', 'A', 'A'), ('B', 'B', 'B'), ('B', 'B', 'B')]

-- name: STRING_AGG | readings
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY seq MEASURES STRING_AGG(R.state, ',') AS states PATTERN (R+) DEFINE R AS temp IS NOT NULL
)
-- by hand: [('s', 'ok,ok,hot,hot,ok'), ('s', 'hot'), ('t', 'hot,ok,ok')]

-- name: measures that name others | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES MAX(X.price) AS hi, MIN(X.price) AS lo, hi - lo AS spread
  PATTERN (X+) DEFINE X AS price IS NOT NULL
)
-- by hand: [('A', 14, 9, 5), ('B', 5, 5, 0), ('B', 7, 4, 3)]

-- name: running and final | nums
SELECT id, r, f, n, t FROM nums MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES RUNNING SUM(v) AS r, FINAL SUM(v) AS f, RUNNING COUNT(*) AS n, FINAL LAST(Y.id) AS t
  ALL ROWS PER MATCH
  PATTERN (X Y+) DEFINE Y AS v > PREV(v)
)
-- by hand: [(1, 5, 18, 1, 3), (2, 11, 18, 2, 3), (3, 18, 18, 3, 3), (5, 3, 16, 1, 8), (6, 7, 16, 2, 8), (8, 16, 16, 3, 8)]

-- name: running sums in define | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES FIRST(ts) AS since, COUNT(*) AS n, SUM(X.volume) AS shares
  PATTERN (X+) DEFINE X AS SUM(X.volume) <= 200
)
-- by hand: [('A', 1, 2, 150), ('A', 3, 4, 130), ('B', 1, 5, 105)]

-- name: average in define | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES FIRST(A.ts) AS since, LAST(A.ts) AS until, AVG(A.price) AS mean
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A+ B) DEFINE A AS AVG(A.price) < 11, B AS price > 11
)
-- rows: [('A', 1, 1, 10.0), ('A', 4, 4, 9.0)]

-- name: sums of expressions in define | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES COUNT(*) AS n
  PATTERN (X+) DEFINE X AS SUM(X.price * X.volume) < 1700
)
-- rows: [('A', 2), ('A', 4), ('B', 5)]

-- name: subsets | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES SUM(U.v) AS total, MAX(U.id) AS last_one, FIRST(U.v) AS first_v
  PATTERN (A B C) SUBSET U = (A, C) DEFINE A AS v = 5, B AS v = 6, C AS v = 7
)
-- by hand: [(12, 3, 5)]

-- name: two columns of order, one descending | ties
SELECT * FROM ties MATCH_RECOGNIZE (
  PARTITION BY grp ORDER BY d, n DESC
  MEASURES COUNT(*) AS c, LAST(v) AS top PATTERN (UP+) DEFINE UP AS v > PREV(v)
)
-- by hand: [('g', 2, 6)]

-- name: two columns of order | ties
SELECT * FROM ties MATCH_RECOGNIZE (
  PARTITION BY grp ORDER BY d ASC, n ASC
  MEASURES COUNT(*) AS c, LAST(v) AS top PATTERN (UP+) DEFINE UP AS v > PREV(v)
)
-- by hand: [('g', 2, 6), ('h', 1, 2)]

-- name: ranks | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY v DESC, id MEASURES FIRST(X.id) AS best, LAST(X.id) AS third PATTERN (X{3}) DEFINE X AS v > 0
)
-- by hand: [(8, 2), (1, 5)]

-- name: NULLS FIRST | readings
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY temp NULLS FIRST, seq MEASURES Y.temp AS least PATTERN (X Y) DEFINE X AS temp IS NULL
)
-- by hand: [('s', 20)]

-- name: order by a text | readings
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY state, seq DESC MEASURES FIRST(X.seq) AS since, COUNT(*) AS n PATTERN (X Y*) DEFINE Y AS state = X.state
)
-- by hand: [('s', 7, 3), ('s', 6, 1), ('s', 5, 3), ('t', 1, 1), ('t', 3, 2)]

-- name: NULL as a key | cards
SELECT * FROM cards MATCH_RECOGNIZE (
  PARTITION BY card ORDER BY ts
  MEASURES COUNT(SMALL.amount) AS n, BIG.amount AS taken
  PATTERN (SMALL+ BIG) DEFINE SMALL AS amount < 5, BIG AS amount > 500
)
-- by hand: [(1, 2, 900), (2, 1, 700), (None, 1, 600)]

-- name: within an hour, in another place | cards
SELECT * FROM cards MATCH_RECOGNIZE (
  PARTITION BY card ORDER BY ts
  MEASURES COUNT(SMALL.amount) AS n, BIG.amount AS taken, LAST(SMALL.place) AS was
  PATTERN (SMALL+ BIG)
  DEFINE SMALL AS amount < 5, BIG AS amount > 500 AND BIG.ts - FIRST(SMALL.ts) < INTERVAL '1' HOUR AND BIG.place <> LAST(SMALL.place)
)
-- by hand: [(1, 2, 900, 'Graz')]

-- name: qualified by the table | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY trades.symbol ORDER BY trades.ts
  MEASURES COUNT(*) AS n PATTERN (X+) DEFINE X AS price IS NOT NULL
)
-- by hand: [('A', 6), ('B', 1), ('B', 3)]

-- name: an alias of the table | trades
SELECT m.symbol, m.n FROM trades AS t MATCH_RECOGNIZE (
  PARTITION BY t.symbol ORDER BY t.ts
  MEASURES COUNT(*) AS n PATTERN (X+) DEFINE X AS price IS NOT NULL
) AS m
-- by hand: [('A', 6), ('B', 1), ('B', 3)]

-- name: a key that is an expression | readings
SELECT n FROM readings MATCH_RECOGNIZE (
  PARTITION BY UPPER(sensor) ORDER BY seq MEASURES COUNT(*) AS n PATTERN (X+) DEFINE X AS temp IS NOT NULL
)
-- by hand: [(5,), (1,), (3,)]

-- name: comments | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol /* one scan each */ ORDER BY ts
  -- what is shown: PATTERN (A B) is not here
  MEASURES COUNT(*) AS n
  PATTERN (/* many */ X+ /* and no more */)
  DEFINE X AS price IS NOT NULL -- the last line
)
-- by hand: [('A', 6), ('B', 1), ('B', 3)]

-- name: names in quotes | trades | trino
SELECT "symbol", "n" FROM "trades" MATCH_RECOGNIZE (
  PARTITION BY "symbol" ORDER BY "ts" MEASURES COUNT(*) AS "n" PATTERN ("X"+) DEFINE "X" AS "price" IS NOT NULL
)
-- by hand: [('A', 6), ('B', 1), ('B', 3)]

-- name: names in backticks | trades | flink
SELECT `symbol`, `n` FROM `trades` MATCH_RECOGNIZE (
  PARTITION BY `symbol` ORDER BY `ts` MEASURES COUNT(*) AS `n` PATTERN (`X`+) DEFINE `X` AS `X`.`price` IS NOT NULL
)
-- by hand: [('A', 6), ('B', 1), ('B', 3)]

-- name: texts | readings
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY seq
  MEASURES FIRST(H.seq) AS since, UPPER(H.state) AS state_then, LENGTH(LAST(O.state)) AS letters
  PATTERN (O+ H+) DEFINE O AS LOWER(state) IN ('ok', 'fine'), H AS state LIKE 'h_t'
)
-- by hand: [('s', 3, 'HOT', 2)]

-- name: values of many kinds | readings
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY seq
  MEASURES LAST(X.seq) AS until, CASE WHEN MAX(X.temp) > 30 THEN 'warm' ELSE 'mild' END AS how, COALESCE(Y.temp, -1) AS then_temp
  PATTERN (X+ Y) DEFINE X AS temp BETWEEN 20 AND 33, Y AS temp IS NULL OR temp NOT BETWEEN 20 AND 33
)
-- by hand: [('s', 5, 'warm', -1)]

-- name: IN with values of rows | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES A.id AS a, B.id AS b AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE B AS B.v IN (A.v + 1, A.v)
)
-- by hand: [(1, 2), (2, 3), (5, 6), (9, 10)]

-- name: dates | ticker
SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY tstamp
  MEASURES FIRST(X.tstamp) AS since, MIN(X.price) AS low
  PATTERN (X+) DEFINE X AS X.tstamp >= DATE '2011-04-15' AND X.price < 20
)
-- by hand: [('ACME', '2011-04-15', 12)]

-- name: OR of unknowns | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES X.ts AS at PATTERN (X) DEFINE X AS NOT (price > 5) OR volume = 20
)
-- by hand: [('A', 4), ('B', 1), ('B', 2), ('B', 6)]

-- name: FILTER of what is unknown, in define | readings
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY seq
  MEASURES R.seq AS at PATTERN (R) DEFINE R AS COUNT(R.seq) FILTER (WHERE R.temp = 33) = 1
)
-- by hand: [('s', 4)]

-- name: arithmetic with what is not there | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES S.ts AS since, S.price + LAST(S.price, 1) AS both_prices PATTERN (S) DEFINE S AS price > 12
)
-- by hand: [('A', 5, None), ('A', 6, None)]

-- name: the least where some are missing | readings
SELECT seq, low FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY seq
  MEASURES MIN(temp) AS low ALL ROWS PER MATCH PATTERN (A B) DEFINE A AS temp = 29, B AS temp IS NULL
)
-- by hand: [(5, 29), (6, 29)]

-- name: sums with FILTER of what is unknown | readings
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY seq
  MEASURES SUM(R.seq) FILTER (WHERE R.temp = 33) AS total, AVG(R.seq) FILTER (WHERE R.temp <> 33) AS mean
  PATTERN (R+) DEFINE R AS seq <= 6
)
-- by hand: [('s', 4, 2.75), ('t', None, 2.0)]

-- name: the smallest text | readings
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY seq
  MEASURES MIN(X.state) AS least, MAX(state) AS most PATTERN (X+ Y) DEFINE Y AS temp > 30 OR temp IS NULL
)
-- by hand: [('s', 'hot', 'ok')]

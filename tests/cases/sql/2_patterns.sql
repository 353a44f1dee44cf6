-- name: empty matches | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES MATCH_NUMBER() AS mn, COUNT(*) AS c, FIRST(BIG.ts) AS since
  ONE ROW PER MATCH
  PATTERN (BIG*)
  DEFINE BIG AS price >= 12
)
-- by hand: [('A', 1, 0, None), ('A', 2, 1, 2), ('A', 3, 0, None), ('A', 4, 0, None), ('A', 5, 2, 5), ('B', 1, 0, None),
--     ('B', 2, 0, None), ('B', 3, 0, None), ('B', 4, 0, None), ('B', 5, 0, None)]

-- name: empty matches as a bag | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES COUNT(*) AS c
  PATTERN (BIG*)
  DEFINE BIG AS price >= 12
)
-- by hand: [('A', 0), ('A', 1), ('A', 0), ('A', 0), ('A', 2), ('B', 0), ('B', 0), ('B', 0), ('B', 0), ('B', 0)]

-- name: show empty matches | nums
SELECT id, v, c, w FROM nums MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES COUNT(*) AS c, CLASSIFIER() AS w
  ALL ROWS PER MATCH SHOW EMPTY MATCHES
  PATTERN (BIG*)
  DEFINE BIG AS v >= 6
)
-- by hand: [(1, 5, 0, None), (2, 6, 1, 'BIG'), (3, 7, 2, 'BIG'), (5, 3, 0, None), (6, 4, 0, None), (8, 9, 1, 'BIG'),
--     (9, 1, 0, None), (10, 1, 0, None)]

-- name: omit empty matches | nums
SELECT id, v, c, w FROM nums MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES COUNT(*) AS c, CLASSIFIER() AS w
  ALL ROWS PER MATCH OMIT EMPTY MATCHES
  PATTERN (BIG*)
  DEFINE BIG AS v >= 6
)
-- by hand: [(2, 6, 1, 'BIG'), (3, 7, 2, 'BIG'), (8, 9, 1, 'BIG')]

-- name: empty matches are counted | nums
SELECT id, mn FROM nums MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES MATCH_NUMBER() AS mn
  ALL ROWS PER MATCH OMIT EMPTY MATCHES
  PATTERN (BIG*)
  DEFINE BIG AS v >= 6
)
-- by hand: [(2, 2), (3, 2), (8, 5)]

-- name: unmatched rows | nums
SELECT id, c, w FROM nums MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES MAX(BIG.v) AS c, CLASSIFIER() AS w
  ALL ROWS PER MATCH WITH UNMATCHED ROWS
  PATTERN (BIG BIG)
  DEFINE BIG AS v >= 6
)
-- by hand: [(1, None, None), (2, 6, 'BIG'), (3, 7, 'BIG'), (5, None, None), (6, None, None), (8, None, None), (9, None, None),
--     (10, None, None)]

-- name: unmatched rows count nothing | nums
SELECT id, c, mn FROM nums MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES COUNT(*) AS c, MATCH_NUMBER() AS mn
  ALL ROWS PER MATCH WITH UNMATCHED ROWS
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (BIG BIG)
  DEFINE BIG AS v >= 6
)
-- by hand: [(1, None, None), (2, 1, 1), (3, 2, 1), (5, None, None), (6, None, None), (8, None, None), (9, None, None),
--     (10, None, None)]

-- name: or nothing | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES FIRST(id) AS since, LAST(id) AS until
  PATTERN (BIG (LOW | ()))
  DEFINE BIG AS v >= 6, LOW AS v < 6
)
-- by hand: [(2, 2), (3, 5), (8, 9)]

-- name: one, the other, both, none | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES COUNT(*) AS c
  PATTERN (A? B?)
  DEFINE A AS v = 6, B AS v = 7
)
-- by hand: [(0,), (2,), (0,), (0,), (0,), (0,), (0,)]

-- name: a group of none or more | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES MATCH_NUMBER() AS mn, FIRST(id) AS since, COUNT(A.id) AS a, COUNT(B.id) AS b
  PATTERN ((A | B)*)
  DEFINE A AS v > 6, B AS v < 4
)
-- rows: [(1, None, 0, 0), (2, None, 0, 0), (3, 3, 1, 1), (4, None, 0, 0), (5, 8, 1, 2)]

-- name: past the last row | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES X.id AS since, LAST(Y.id) AS until
  AFTER MATCH SKIP PAST LAST ROW PATTERN (X Y+) DEFINE Y AS v > PREV(v)
)
-- by hand: [(1, 3), (5, 8)]

-- name: to the next row | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES X.id AS since, LAST(Y.id) AS until
  AFTER MATCH SKIP TO NEXT ROW PATTERN (X Y+) DEFINE Y AS v > PREV(v)
)
-- by hand: [(1, 3), (2, 3), (5, 8), (6, 8)]

-- name: to the first | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES X.id AS since, LAST(Y.id) AS until
  AFTER MATCH SKIP TO FIRST Y PATTERN (X Y+) DEFINE Y AS v > PREV(v)
)
-- by hand: [(1, 3), (2, 3), (5, 8), (6, 8)]

-- name: to the last | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES X.id AS since, LAST(Y.id) AS until
  AFTER MATCH SKIP TO LAST Y PATTERN (X Y+) DEFINE Y AS v > PREV(v)
)
-- by hand: [(1, 3), (5, 8)]

-- name: to a variable | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES X.id AS since, LAST(Y.id) AS until
  AFTER MATCH SKIP TO Y PATTERN (X Y+) DEFINE Y AS v > PREV(v)
)
-- by hand: [(1, 3), (5, 8)]

-- name: as often as matches show it | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES Y.v AS v AFTER MATCH SKIP TO NEXT ROW PATTERN (X+ Y) DEFINE Y AS v = 7
)
-- by hand: [(7,), (7,)]

-- name: in any order | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES A.id AS a, B.id AS b PATTERN (PERMUTE(A, B)) DEFINE A AS v = 7, B AS v = 6
)
-- by hand: [(3, 2)]

-- name: in any order, three | readings
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY seq
  MEASURES FIRST(seq) AS since, CLASSIFIER() AS last_one
  ALL ROWS PER MATCH
  PATTERN (PERMUTE(H, O, L?))
  DEFINE H AS state = 'hot', O AS state = 'ok', L AS state = 'lost'
)
-- rows: [('s', 2, 25, 'ok', 2, 'O'), ('s', 3, 31, 'hot', 2, 'H'), ('s', 4, 33, 'hot', 4, 'H'),
--     ('s', 5, 29, 'ok', 4, 'O'), ('s', 6, None, 'lost', 4, 'L'), ('t', 1, 30, 'hot', 1, 'H'),
--     ('t', 2, 28, 'ok', 1, 'O')]

-- name: as few as possible | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES X.id AS since, Z.id AS until PATTERN (X Y*? Z) DEFINE Z AS v < 5
)
-- by hand: [(1, 5), (6, 9)]

-- name: as many as possible | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES X.id AS since, Z.id AS until PATTERN (X Y* Z) DEFINE Z AS v < 5
)
-- by hand: [(1, 10)]

-- name: rows left out | nums
SELECT id, c FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES COUNT(*) AS c
  ALL ROWS PER MATCH
  PATTERN (X {- Y+ -} Z)
  DEFINE Y AS v >= 5, Z AS v < 4
)
-- by hand: [(1, 1), (5, 4), (6, 1), (9, 3)]

-- name: at most two | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES X.id AS since, Z.id AS until, COUNT(Y.id) AS n
  PATTERN (X Y{,2} Z) DEFINE Y AS v > PREV(v), Z AS v < PREV(v)
)
-- by hand: [(1, 5, 2), (6, 9, 1)]

-- name: any number | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES X.id AS since, Z.id AS until, COUNT(Y.id) AS n
  PATTERN (X Y{,} Z) DEFINE Y AS v > PREV(v), Z AS v < PREV(v)
)
-- by hand: [(1, 5, 2), (6, 9, 1)]

-- name: exactly two, two to three | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES FIRST(X.id) AS since, LAST(Y.id) AS until
  PATTERN (X{2} Y{2,3}?) DEFINE X AS v > 3, Y AS v < 9
)
-- rows: [(1, 5), (6, 10)]

-- name: alternatives, the left one first | nums
SELECT id, w FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES CLASSIFIER() AS w ALL ROWS PER MATCH
  PATTERN ((A B | A C D | E)) DEFINE B AS v > 6, C AS v = 6, E AS v = 4
)
-- rows: [(1, 'A'), (2, 'C'), (3, 'D'), (6, 'A'), (8, 'B')]

-- name: islands | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES MATCH_NUMBER() AS island, FIRST(id) AS since, LAST(id) AS until, COUNT(*) AS n
  ONE ROW PER MATCH
  PATTERN (S C*)
  DEFINE C AS id = PREV(id) + 1
)
-- by hand: [(1, 1, 3, 3), (2, 5, 6, 2), (3, 8, 10, 3)]

-- name: gaps | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES A.id + 1 AS since, B.id - 1 AS until
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A B)
  DEFINE B AS B.id - A.id > 1
)
-- by hand: [(4, 4), (7, 7)]

-- name: sessions | clicks
SELECT * FROM clicks MATCH_RECOGNIZE (
  PARTITION BY customer ORDER BY ts
  MEASURES FIRST(ts) AS since, LAST(ts) AS until, COUNT(*) AS n, SUM(spent) AS total
  PATTERN (S C*)
  DEFINE C AS C.ts - PREV(C.ts) < INTERVAL '30' MINUTE
)
-- by hand: [('ann', '2024-05-01 09:00:00', '2024-05-01 09:09:00', 4, 40), ('ann', '2024-05-01 11:00:00', '2024-05-01 11:20:00', 2, 0),
--     ('bob', '2024-05-01 09:01:00', '2024-05-01 09:02:00', 2, 0), ('bob', '2024-05-01 09:50:00', '2024-05-01 09:58:00', 3, 20)]

-- name: funnel | clicks
SELECT * FROM clicks MATCH_RECOGNIZE (
  PARTITION BY customer ORDER BY ts
  MEASURES H.ts AS since, B.ts AS until, B.spent AS spent_then
  PATTERN (H X*? P X*? C X*? B)
  WITHIN INTERVAL '1' HOUR
  DEFINE H AS page = 'home', P AS page = 'product', C AS page = 'cart', B AS page = 'pay'
)
-- by hand: [('ann', '2024-05-01 09:00:00', '2024-05-01 09:09:00', 40)]

-- name: cart left alone | clicks
SELECT * FROM clicks MATCH_RECOGNIZE (
  PARTITION BY customer ORDER BY ts
  MEASURES CART.ts AS at, NEXT(LAST(CART.page)) AS then_page
  PATTERN (CART)
  DEFINE CART AS page = 'cart' AND (NEXT(page) <> 'pay' OR NEXT(page) IS NULL)
)
-- by hand: [('bob', '2024-05-01 09:02:00', 'home')]

-- name: within a window | cards
SELECT * FROM cards MATCH_RECOGNIZE (
  PARTITION BY card ORDER BY ts
  MEASURES COUNT(SMALL.amount) AS n, BIG.amount AS taken
  PATTERN (SMALL+ BIG)
  WITHIN INTERVAL '1' HOUR
  DEFINE SMALL AS amount < 5, BIG AS amount > 500
)
-- by hand: [(1, 2, 900), (None, 1, 600)]

-- name: unmatched rows have no count | nums
SELECT id, c FROM nums MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES COUNT(*) AS c
  ALL ROWS PER MATCH WITH UNMATCHED ROWS
  PATTERN (BIG BIG)
  DEFINE BIG AS v >= 6
)
-- by hand: [(1, None), (2, 1), (3, 2), (5, None), (6, None), (8, None), (9, None), (10, None)]

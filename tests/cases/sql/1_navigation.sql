-- name: v shape | ticker
SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY tstamp
  MEASURES STRT.tstamp AS start_tstamp, LAST(DOWN.tstamp) AS bottom_tstamp, LAST(UP.tstamp) AS end_tstamp
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO LAST UP
  PATTERN (STRT DOWN+ UP+)
  DEFINE DOWN AS DOWN.price < PREV(DOWN.price), UP AS UP.price > PREV(UP.price)
) MR
ORDER BY MR.symbol, MR.start_tstamp
-- by hand: [('ACME', '2011-04-05', '2011-04-06', '2011-04-10'), ('ACME', '2011-04-10', '2011-04-12', '2011-04-13'),
--     ('ACME', '2011-04-14', '2011-04-16', '2011-04-18')]

-- name: v shape, all rows | ticker
SELECT symbol, tstamp, price, match_num, var_match, final_low FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY tstamp
  MEASURES MATCH_NUMBER() AS match_num, CLASSIFIER() AS var_match, FINAL LAST(DOWN.price) AS final_low
  ALL ROWS PER MATCH
  AFTER MATCH SKIP TO LAST UP
  PATTERN (STRT DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
)
-- rows: [('ACME', '2011-04-05', 25, 1, 'STRT', 12), ('ACME', '2011-04-06', 12, 1, 'DOWN', 12),
--     ('ACME', '2011-04-07', 15, 1, 'UP', 12), ('ACME', '2011-04-08', 20, 1, 'UP', 12),
--     ('ACME', '2011-04-09', 24, 1, 'UP', 12), ('ACME', '2011-04-10', 25, 1, 'UP', 12),
--     ('ACME', '2011-04-10', 25, 2, 'STRT', 15), ('ACME', '2011-04-11', 19, 2, 'DOWN', 15),
--     ('ACME', '2011-04-12', 15, 2, 'DOWN', 15), ('ACME', '2011-04-13', 25, 2, 'UP', 15),
--     ('ACME', '2011-04-14', 25, 3, 'STRT', 12), ('ACME', '2011-04-15', 14, 3, 'DOWN', 12),
--     ('ACME', '2011-04-16', 12, 3, 'DOWN', 12), ('ACME', '2011-04-17', 14, 3, 'UP', 12),
--     ('ACME', '2011-04-18', 24, 3, 'UP', 12)]

-- name: double bottom | ticker
SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY tstamp
  MEASURES STRT.tstamp AS start_tstamp, UP.tstamp AS end_tstamp
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO LAST UP
  PATTERN (STRT DOWN+ UP+ DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
) MR ORDER BY MR.symbol
-- by hand: [('ACME', '2011-04-05', '2011-04-13')]

-- name: down first | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES FIRST(DOWN.ts) AS since, LAST(UP.ts) AS until
  PATTERN (DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
)
-- by hand: [('A', 3, 6)]

-- name: rising runs | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES FIRST(UP.ts) AS since, LAST(UP.ts) AS until, COUNT(*) AS days
  ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
  PATTERN (UP{2,})
  DEFINE UP AS price > PREV(price)
)
-- by hand: [('A', 5, 6, 2)]

-- name: two rows back | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES X.ts AS at
  PATTERN (X)
  DEFINE X AS price > PREV(price, 2)
)
-- by hand: [('A', 3), ('A', 5), ('A', 6), ('B', 3)]

-- name: PREV in measures | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES X.ts AS at, PREV(X.price) AS price_before, X.price AS price_now
  PATTERN (X)
  DEFINE X AS X.price > 12
)
-- by hand: [('A', 5, 9, 13), ('A', 6, 13, 14)]

-- name: peak | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES PEAK.ts AS at, PEAK.price AS top
  PATTERN (PEAK)
  DEFINE PEAK AS price > PREV(price) AND price > NEXT(price)
)
-- by hand: [('A', 2, 12), ('B', 4, 7)]

-- name: NEXT in measures | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES DOWN.ts AS at, NEXT(DOWN.price, 2) AS later
  PATTERN (DOWN)
  DEFINE DOWN AS price < PREV(price)
)
-- by hand: [('A', 3, 13), ('A', 4, 14), ('B', 6, None)]

-- name: nested navigation | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES S.ts AS since, PREV(LAST(UP.price), 2) AS two_before
  PATTERN (S UP+)
  DEFINE UP AS price > PREV(price)
)
-- by hand: [('A', 1, None), ('A', 4, 9), ('B', 3, None)]

-- name: nested navigation in define | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES S.ts AS since, E.ts AS until
  PATTERN (S M+ E)
  DEFINE E AS E.price > NEXT(FIRST(M.price), 1)
)
-- rows: [('A', 1, 6), ('B', 1, 4)]

-- name: first and last with offsets | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES S.ts AS since, FIRST(UP.price, 1) AS second_up, LAST(UP.price, 1) AS last_but_one
  PATTERN (S UP+)
  DEFINE UP AS price > PREV(price)
)
-- by hand: [('A', 1, None, None), ('A', 4, 14, 13), ('B', 3, None, None)]

-- name: at the start | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES S.ts AS since, LAST(UP.ts) AS until
  PATTERN (^ S UP+)
  DEFINE UP AS price > PREV(price)
)
-- by hand: [('A', 1, 2)]

-- name: at the end | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES FIRST(UP.ts) AS since, LAST(UP.ts) AS until
  PATTERN (UP+ $)
  DEFINE UP AS price > PREV(price)
)
-- by hand: [('A', 5, 6)]

-- name: the whole partition | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES COUNT(*) AS days
  PATTERN (^ X+ $)
  DEFINE X AS price IS NOT NULL
)
-- by hand: [('A', 6)]

-- name: navigation of expressions | trades
SELECT * FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts
  MEASURES S.ts AS since, LAST(UP.price * UP.volume) AS worth, FIRST(UP.price + 1) AS more, PREV(UP.price * 10) AS tenfold
  PATTERN (S UP+)
  DEFINE UP AS UP.price > PREV(UP.price)
)
-- rows: [('A', 1, 600, 13, 100), ('A', 4, 420, 14, 130), ('B', 3, 280, 8, 60)]

-- name: classifier of a subset | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES CLASSIFIER() AS last_one, CLASSIFIER(U) AS of_u, FIRST(CLASSIFIER()) AS first_one, LAST(CLASSIFIER(), 1) AS one_before
  PATTERN (A (B | C)+)
  SUBSET U = (A, B)
  DEFINE A AS v = 5, B AS v = 6, C AS v = 7
)
-- by hand: [('C', 'B', 'A', 'B')]

-- name: sideways | readings
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY sensor ORDER BY seq
  MEASURES FIRST(X.seq) AS since, LAST(X.seq) AS until, PREV(FIRST(X.temp)) AS temp_before, NEXT(LAST(X.temp)) AS temp_behind
  PATTERN (X+)
  DEFINE X AS ABS(temp - PREV(temp)) <= 4
)
-- rows: [('s', 4, 5, 31, None), ('t', 2, 3, 30, None)]

-- name: LAST in define | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES FIRST(X.id) AS since, LAST(Y.id) AS until
  PATTERN (X+ Y)
  DEFINE X AS X.v >= FIRST(X.v), Y AS Y.v < LAST(X.v, 1)
)
-- rows: [(1, 5), (6, 9)]

-- name: lag as Snowflake's manual | trades | snowflake
SELECT * FROM trades
  match_recognize(
    partition by symbol
    order by ts
    measures
      match_number() as "mno", first(ts) as "since", last(ts) as "until", count(*) as "rows_in_sequence",
      count(row_with_price_decrease.*) as "num_decreases"
    one row per match
    after match skip to last row_with_price_increase
    pattern(row_before_decrease row_with_price_decrease+ row_with_price_increase+)
    define
      row_with_price_decrease as price < lag(price),
      row_with_price_increase as price > lag(price)
  )
order by symbol, "mno"
-- rows: [('A', 1, 2, 6, 5, 2)]

-- name: price dip as Flink's page | trades | flink
SELECT *
FROM trades
    MATCH_RECOGNIZE (
        PARTITION BY symbol
        ORDER BY ts
        MEASURES
            START_ROW.ts AS start_tstamp,
            LAST(PRICE_DOWN.ts) AS bottom_tstamp,
            LAST(PRICE_UP.ts) AS end_tstamp
        ONE ROW PER MATCH
        AFTER MATCH SKIP TO LAST PRICE_UP
        PATTERN (START_ROW PRICE_DOWN+ PRICE_UP)
        DEFINE
            PRICE_DOWN AS
                (LAST(PRICE_DOWN.price, 1) IS NULL AND PRICE_DOWN.price < START_ROW.price) OR
                    PRICE_DOWN.price < LAST(PRICE_DOWN.price, 1),
            PRICE_UP AS
                PRICE_UP.price > LAST(PRICE_DOWN.price, 1)
    ) MR
-- rows: [('A', 2, 4, 5)]

-- name: as Oracle's guide | ticker | oracle
SELECT M.symbol, M.tstamp, M.matchno, M.classfr, M.price, M.avgp
FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY tstamp
  MEASURES FINAL AVG(S.price) AS avgp, CLASSIFIER() AS classfr, MATCH_NUMBER() AS matchno
  ALL ROWS PER MATCH
  AFTER MATCH SKIP TO LAST B
  PATTERN ( {- A -} B+ {- C+ -} )
  SUBSET S = (A,B)
  DEFINE
    A AS A.price >= 10,
    B AS B.price > PREV(B.price),
    C AS C.price <= PREV(C.price)
) M
ORDER BY symbol, tstamp
-- rows: [('ACME', '2011-04-02', 1, 'B', 17, 18.8), ('ACME', '2011-04-03', 1, 'B', 19, 18.8),
--     ('ACME', '2011-04-04', 1, 'B', 21, 18.8), ('ACME', '2011-04-05', 1, 'B', 25, 18.8),
--     ('ACME', '2011-04-07', 2, 'B', 15, 19.2), ('ACME', '2011-04-08', 2, 'B', 20, 19.2),
--     ('ACME', '2011-04-09', 2, 'B', 24, 19.2), ('ACME', '2011-04-10', 2, 'B', 25, 19.2),
--     ('ACME', '2011-04-13', 3, 'B', 25, 20.0), ('ACME', '2011-04-17', 4, 'B', 14, 16.666666667),
--     ('ACME', '2011-04-18', 4, 'B', 24, 16.666666667)]

-- name: classifiers beside | nums
SELECT * FROM nums MATCH_RECOGNIZE (
  ORDER BY id
  MEASURES PREV(CLASSIFIER()) AS before, PREV(LAST(CLASSIFIER(), 1), 2) AS long_before, NEXT(LAST(CLASSIFIER(), 2)) AS second_last,
    NEXT(CLASSIFIER()) AS none
  PATTERN (S RISE+ FALL) DEFINE RISE AS v > PREV(v), FALL AS v < PREV(v) AND PREV(CLASSIFIER()) = 'RISE'
)
-- by hand: [('RISE', 'S', 'RISE', None), ('RISE', None, 'RISE', None)]

-- name: the number of a row in its match | trades | snowflake
SELECT "symbol", "ts", n, m FROM "trades" MATCH_RECOGNIZE (
  PARTITION BY "symbol" ORDER BY "ts"
  MEASURES MATCH_SEQUENCE_NUMBER() AS n, MATCH_NUMBER() AS m ALL ROWS PER MATCH
  PATTERN (S RISE+) DEFINE RISE AS "price" > LAG("price")
)
-- by hand: [('A', 1, 1, 1), ('A', 2, 2, 1), ('A', 4, 1, 2), ('A', 5, 2, 2), ('A', 6, 3, 2), ('B', 3, 1, 1), ('B', 4, 2, 1)]

-- name: the third row, where two before it may be left out | nums
SELECT n, v FROM nums MATCH_RECOGNIZE (
  ORDER BY id MEASURES COUNT(*) AS n, FIRST(v) AS v PATTERN (B{,2} D B{2}) DEFINE D AS v >= FIRST(v, 2)
)
-- by hand: [(5, 5)]

-- name: the row behind the match, FINAL | trades | oracle
SELECT SYMBOL, N, TS FROM TRADES MATCH_RECOGNIZE (
  PARTITION BY SYMBOL ORDER BY TS MEASURES NEXT(FINAL LAST(PRICE)) - FIRST(PRICE) AS N
  ALL ROWS PER MATCH PATTERN (X Y) DEFINE Y AS PRICE > PREV(PRICE)
)
-- by hand: [('A', 1, 1), ('A', 1, 2), ('A', 5, 4), ('A', 5, 5), ('B', -2, 3), ('B', -2, 4)]

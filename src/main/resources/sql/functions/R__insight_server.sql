-- How the server fares with this database: what PostgreSQL's own statistics say about it, in the
-- shape that dashboards expect. Other databases of the server are left out.

-- queen_store.percent_of: a share in percent.
-- Called by  show_server
-- Locks      none
-- Returns    two decimals; null where there is no whole
-- Cost       none
create or replace function queen_store.percent_of(p_part numeric, p_whole numeric)
returns numeric
language sql immutable parallel safe
return trim_scale(round(100 * p_part / nullif(p_whole, 0), 2));
comment on function queen_store.percent_of(numeric, numeric) is
    'A share in percent. Locks: none.';

-- queen_store.show_server: how the server fares with this database.
-- Called by  AnalyticsReads
-- Locks      none
-- Returns    a JSON object. Sizes are those of the 20 largest tables, the epochs of the log among
--            them; queries are those that have run for over a second, 10 at most
-- Cost       8 statements over the catalogue of this database, and the sizes of its tables. What
--            each object has in the buffers is not shown: one would have to look at all of them
create or replace function queen_store.show_server()
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_cache json;
    v_tables json;
    v_indexes json;
    v_summary json;
    v_dead json;
    v_hot json;
    v_queries json;
    v_vacuums json;
    v_sizes json;
begin
    select json_build_object(
               'database', d.datname, 'diskReads', d.blks_read, 'cacheHits', d.blks_hit,
               'cacheHitRatio',
               queen_store.percent_of(d.blks_hit, d.blks_hit + d.blks_read))
    into v_cache
    from pg_stat_database d
    where d.datname = current_database();

    with io as materialized (
        select t.schemaname, t.relname, coalesce(t.heap_blks_read, 0) as reads,
               coalesce(t.heap_blks_hit, 0) as hits, coalesce(t.idx_blks_read, 0) as index_reads,
               coalesce(t.idx_blks_hit, 0) as index_hits
        from pg_statio_user_tables t
    )
    select (
               select coalesce(json_agg(json_build_object(
                          'schema', t.schemaname, 'table', t.relname, 'diskReads', t.reads,
                          'cacheHits', t.hits,
                          'cacheHitRatio',
                          queen_store.percent_of(t.hits, t.hits + t.reads))
                          order by t.hits + t.reads desc, t.relname), '[]')
               from (
                   select i.*
                   from io i
                   order by i.hits + i.reads desc, i.relname
                   limit 20) t),
           json_build_object(
               'tables', json_build_object(
                   'diskReads', coalesce(sum(i.reads), 0), 'cacheHits', coalesce(sum(i.hits), 0),
                   'hitRatio', queen_store.percent_of(sum(i.hits), sum(i.hits + i.reads))),
               'indexes', json_build_object(
                   'diskReads', coalesce(sum(i.index_reads), 0),
                   'cacheHits', coalesce(sum(i.index_hits), 0),
                   'hitRatio', queen_store.percent_of(
                       sum(i.index_hits), sum(i.index_hits + i.index_reads))))
    into v_tables, v_summary
    from io i;

    select coalesce(json_agg(json_build_object(
               'schema', i.schemaname, 'table', i.relname, 'index', i.indexrelname,
               'diskReads', i.idx_blks_read, 'cacheHits', i.idx_blks_hit,
               'cacheHitRatio',
               queen_store.percent_of(i.idx_blks_hit, i.idx_blks_hit + i.idx_blks_read))
               order by i.idx_blks_hit + i.idx_blks_read desc, i.indexrelname), '[]')
    into v_indexes
    from (
        select i.*
        from pg_statio_user_indexes i
        order by i.idx_blks_hit + i.idx_blks_read desc, i.indexrelname
        limit 20) i;

    select coalesce(json_agg(json_build_object(
               'schema', t.schemaname, 'table', t.relname, 'deadTuples', t.n_dead_tup,
               'liveTuples', t.n_live_tup,
               'deadPercentage',
               queen_store.percent_of(t.n_dead_tup, t.n_dead_tup + t.n_live_tup),
               'lastVacuum', queen_store.utc_text(t.last_vacuum),
               'lastAutovacuum', queen_store.utc_text(t.last_autovacuum))
               order by t.n_dead_tup desc, t.relname), '[]')
    into v_dead
    from (
        select t.*
        from pg_stat_user_tables t
        where t.n_dead_tup > 0
        order by t.n_dead_tup desc, t.relname
        limit 15) t;

    select coalesce(json_agg(json_build_object(
               'schema', t.schemaname, 'table', t.relname, 'totalUpdates', t.n_tup_upd,
               'hotUpdates', t.n_tup_hot_upd,
               'hotUpdatePercentage',
               queen_store.percent_of(t.n_tup_hot_upd, t.n_tup_upd))
               order by t.n_tup_upd desc, t.relname), '[]')
    into v_hot
    from (
        select t.*
        from pg_stat_user_tables t
        where t.n_tup_upd > 0
        order by t.n_tup_upd desc, t.relname
        limit 20) t;

    select coalesce(json_agg(json_build_object(
               'table', t.relname, 'lastAutovacuum', queen_store.utc_text(t.last_autovacuum),
               'deadTuples', t.n_dead_tup, 'autovacuumCount', t.autovacuum_count,
               'autoanalyzeCount', t.autoanalyze_count)
               order by t.n_dead_tup desc, t.relname), '[]')
    into v_vacuums
    from (
        select t.*
        from pg_stat_user_tables t
        where t.n_dead_tup > 1000
        order by t.n_dead_tup desc, t.relname
        limit 20) t;

    -- Not ours: this query runs, too.
    select coalesce(json_agg(json_build_object(
               'pid', a.pid, 'duration', trim_scale(round(a.seconds::numeric, 2)), 'state', a.state,
               'query', left(a.query, 200), 'waitEventType', a.wait_event_type,
               'waitEvent', a.wait_event) order by a.seconds desc), '[]')
    into v_queries
    from (
        select a.*, extract(epoch from clock_timestamp() - a.query_start) as seconds
        from pg_stat_activity a
        where a.datname = current_database() and a.state <> 'idle'
          and a.pid <> pg_backend_pid()
          and a.query_start < clock_timestamp() - interval '1 second'
        order by a.query_start
        limit 10) a;

    select coalesce(json_agg(json_build_object(
               'table', t.relname, 'totalSize', pg_size_pretty(t.total),
               'totalSizeBytes', t.total, 'tableSize', pg_size_pretty(t.heap),
               'tableSizeBytes', t.heap, 'indexSize', pg_size_pretty(t.indexes),
               'indexSizeBytes', t.indexes) order by t.total desc, t.relname), '[]')
    into v_sizes
    from (
        select s.relname, s.heap + s.indexes as total, s.heap, s.indexes
        from (
            select t.relname, coalesce(pg_table_size(t.relid), 0) as heap,
                   coalesce(pg_indexes_size(t.relid), 0) as indexes
            from pg_stat_user_tables t) s
        order by 2 desc, 1
        limit 20) t;

    return json_build_object(
        'timestamp', queen_store.utc_text(clock_timestamp()), 'database', current_database(),
        'databaseCache', v_cache, 'tableCache', v_tables, 'indexCache', v_indexes,
        'cacheSummary', v_summary, 'deadTuples', v_dead, 'hotUpdates', v_hot,
        'activeQueries', v_queries, 'autovacuumStatus', v_vacuums,
        'bufferConfig', json_build_object(
            'sharedBuffers', current_setting('shared_buffers'),
            'sharedBuffersSize', (
                select s.setting::bigint * current_setting('block_size')::bigint
                from pg_settings s
                where s.name = 'shared_buffers')),
        'bufferUsage', json_build_array(), 'tableSizes', v_sizes);
end
$$;
comment on function queen_store.show_server() is
    'How the server fares with this database. Locks: none.';

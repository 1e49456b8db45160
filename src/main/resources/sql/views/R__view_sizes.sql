-- How big is everything? One row per table, the tables of the log each for itself.
create or replace view queen.sizes as
select
    c.relname::text as table_name,
    greatest(c.reltuples::bigint, s.n_live_tup, 0) as estimated_rows,
    s.n_dead_tup as dead_rows,
    pg_relation_size(c.oid) as table_bytes,
    coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0) as toast_bytes,
    pg_indexes_size(c.oid) as index_bytes,
    pg_total_relation_size(c.oid) as total_bytes,
    greatest(s.last_vacuum, s.last_autovacuum) as last_vacuum,
    coalesce(
        obj_description(c.oid, 'pg_class'), obj_description(i.inhparent, 'pg_class')) as purpose
from pg_class c
left join pg_stat_all_tables s on s.relid = c.oid
left join pg_inherits i on i.inhrelid = c.oid
where c.relnamespace = 'queen_store'::regnamespace and c.relkind = 'r'
order by pg_total_relation_size(c.oid) desc, c.relname;

comment on view queen.sizes is
    'Tables of the broker by size on disk, largest first. What each queue takes of the log is in queen.counts, before compression.';
comment on column queen.sizes.table_name is 'Table of queen_store; segments_<n> is epoch n of the log.';
comment on column queen.sizes.estimated_rows is 'Rows, as far as statistics know.';
comment on column queen.sizes.dead_rows is 'Rows that a vacuum has yet to remove, as far as statistics know.';
comment on column queen.sizes.table_bytes is 'The table itself.';
comment on column queen.sizes.toast_bytes is 'Values that have moved out of it, with their index.';
comment on column queen.sizes.index_bytes is 'Its indexes.';
comment on column queen.sizes.total_bytes is 'All of it.';
comment on column queen.sizes.last_vacuum is 'When it was last vacuumed, by hand or by itself; null = never.';
comment on column queen.sizes.purpose is 'What it is for.';

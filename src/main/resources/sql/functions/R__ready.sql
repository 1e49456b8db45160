-- Lanes that have work for a group: what fills the ready lanes of a broker again when hints were
-- lost.

-- queen_store.lanes_with_work: lanes of a queue with messages beyond the group's effective cursor,
-- oldest write first, leased ones included. The next page begins after the last row of this one;
-- a page shorter than p_limit is the last.
-- Called by  ReadyProcedures, queen.pop
-- Locks      none
-- Returns    lanes written since p_since (null = all), at most p_limit
-- Cost       1 statement: one index range over the lanes, one cursor probe each
create or replace function queen_store.lanes_with_work(
    p_queue_id integer, p_group_id integer, p_since timestamptz, p_after_write timestamptz,
    p_after_id bigint, p_limit integer)
returns table (
    partition_id bigint, name text, last_write_at timestamptz, last_offset bigint,
    lease_expires_at timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    select p.id, p.name, p.last_write_at, p.last_offset,
           case when c.generation = g.generation then c.lease_expires_at end
    from (
        select g.queue_id, g.generation, coalesce(g.seek_rule, g.start_rule) as rule,
               case when g.seek_rule is null then g.start_at else g.seek_at end as at
        from queen_store.groups g
        where g.id = p_group_id
        limit 1) g
    cross join lateral (
        select p.id, p.name, p.last_write_at, p.last_offset, p.log_start
        from queen_store.partitions p
        where p.queue_id = p_queue_id
          and (p.last_write_at, p.id)
              > (coalesce(p_after_write, '-infinity'), coalesce(p_after_id, 0))
          and p.last_write_at >= coalesce(p_since, '-infinity')
          and p.last_offset >= p.log_start
        order by p.last_write_at, p.id
        offset 0) p
    left join lateral (
        select c.generation, c.committed, c.lease_expires_at
        from queen_store.cursors c
        where c.partition_id = p.id and c.group_id = p_group_id
        limit 1) c on true
    where g.queue_id = p_queue_id and p.last_offset > case
        when c.generation = g.generation then c.committed
        else queen_store.start_committed(
            p.id, p.log_start, p.last_offset, p.last_write_at, g.rule, g.at) end
    order by p.last_write_at, p.id
    limit p_limit;
end
$$;
comment on function queen_store.lanes_with_work(integer, integer, timestamptz, timestamptz, bigint, integer) is
    'Lanes of a queue with messages a group has not consumed, paged by time of last write. Locks: none.';

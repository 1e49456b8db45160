-- What administrators ask about consumer groups: where they stand, and which lanes wait for them.

-- queen_store.list_groups: the consumer groups of a tenant, one row per group and queue, by name.
-- Called by  GroupReads
-- Locks      none
-- Returns    a page of them. lanes = those in which the group has a cursor, as the last walk found;
--            pending null = it is not registered, and has a place only in lanes it has popped;
--            unread_at as oldest_unread says
-- Cost       2 statements: one over the groups of the tenant, that of told_amounts for the queues
--            of the page; per group oldest_unread, over its share of 10,000 lanes
create or replace function queen_store.list_groups(
    p_tenant_id uuid, p_limit integer, p_offset integer)
returns table (
    consumer_group text, queue text, lanes bigint, behind bigint, pending bigint,
    unread_at timestamptz, start_rule text, start_at timestamptz, created_at timestamptz,
    consumed_at timestamptz, conflation boolean, age_seconds integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_lanes_max constant integer := 10000;
    v_group_ids integer[];
    v_queue_ids integer[];
begin
    select array_agg(g.id order by g.name, g.queue), array_agg(distinct g.queue_id)
    into v_group_ids, v_queue_ids
    from (
        select g.id, g.queue_id, g.name, q.name as queue
        from queen_store.queues q
        join queen_store.groups g on g.queue_id = q.id and g.is_known
        where q.tenant_id = p_tenant_id and q.deleted_at is null
        order by g.name, q.name
        limit p_limit
        offset p_offset) g;
    return query
    select g.name, q.name, coalesce(t.lanes, 0), coalesce(t.behind, 0), t.pending, u.unread_at,
           g.start_rule, g.start_at, g.created_at, g.consumed_at, coalesce(g.conflation, false),
           t.age_seconds
    from unnest(v_group_ids) with ordinality i (id, place)
    join queen_store.groups g on g.id = i.id
    join queen_store.queues q on q.id = g.queue_id
    left join queen_store.told_amounts(v_queue_ids) t
        on t.queue_id = g.queue_id and t.group_id = g.id
    left join lateral queen_store.oldest_unread(
        g.id, v_lanes_max / cardinality(v_group_ids)) u on true
    order by i.place;
end
$$;
comment on function queen_store.list_groups(uuid, integer, integer) is
    'The consumer groups of a tenant, one row per group and queue. Locks: none.';

-- queen_store.list_lagging: the lanes that have waited longest for a group of a tenant: found by
-- the last walk, shown as they are now.
-- Called by  GroupReads
-- Locks      none
-- Returns    at most p_limit of those whose oldest unread message is older than p_seconds, the
--            oldest first; per group the walk keeps 100
-- Cost       1 statement: effective_cursor for each of the p_limit lanes that had waited longest
--            when the walk came by, and unread_since
create or replace function queen_store.list_lagging(
    p_tenant_id uuid, p_seconds integer, p_limit integer)
returns table (
    consumer_group text, queue text, partition text, partition_id bigint, pending bigint,
    unread_at timestamptz, lag_seconds double precision)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
begin
    return query
    with lane as materialized (
        select o.*, p.name as partition, p.last_offset,
               queen_store.effective_cursor(o.partition_id, o.group_id) as committed,
               row_number() over () as ordinal
        from (
            select o.group_id, o.partition_id, g.name as consumer_group, q.name as queue
            from queen_store.oldest_lanes o
            join queen_store.groups g on g.id = o.group_id
            join queen_store.queues q on q.id = g.queue_id
            where q.tenant_id = p_tenant_id and q.deleted_at is null
            order by o.unread_at
            limit p_limit) o
        join queen_store.partitions p on p.id = o.partition_id
    )
    select w.consumer_group, w.queue, w.partition, w.partition_id, w.last_offset - w.committed,
           u.unread_at, extract(epoch from v_now - u.unread_at)::double precision
    from queen_store.unread_since(
        array(select w.partition_id from lane w order by w.ordinal),
        array(select w.committed + 1 from lane w order by w.ordinal)) u
    join lane w on w.ordinal = u.ordinal
    where w.last_offset > w.committed
      and u.unread_at < v_now - p_seconds * interval '1 second'
    order by u.unread_at, w.partition_id;
end
$$;
comment on function queen_store.list_lagging(uuid, integer, integer) is
    'The lanes that have waited longest for a group of a tenant. Locks: none.';

-- queen_store.group_lanes: where a group stands in the lanes of its queues.
-- Called by  GroupReads
-- Locks      none
-- Returns    of each queue that has the group, by name, at most its share of p_limit lanes: those
--            with the oldest unread messages as the last walk found them, then those written last;
--            most pending first. partition null = the queue has none. complete = these are all
-- Cost       1 statement; that of lane_depths, and of unread_since where something is unread
create or replace function queen_store.group_lanes(
    p_tenant_id uuid, p_group text, p_limit integer)
returns table (
    queue text, conflation boolean, partition text, last_offset bigint, pending bigint,
    leased boolean, unread_at timestamptz, complete boolean)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    with queue as materialized (
        select q.*, row_number() over (order by q.name) as place
        from (
            select q.id, q.name, g.id as group_id, coalesce(g.conflation, false) as conflation,
                   greatest(p_limit / count(*) over (), 1)::integer as share
            from queen_store.queues q
            join queen_store.groups g on g.queue_id = q.id and g.name = p_group and g.is_known
            where q.tenant_id = p_tenant_id and q.deleted_at is null
            order by q.name
            limit p_limit) q
    ),
    shown as materialized (
        select q.place, l.ids[: q.share] as ids,
               coalesce(cardinality(l.ids), 0) <= q.share as complete
        from queue q
        cross join lateral (
            -- One more, to know whether these are all.
            select array_agg(w.partition_id order by w.kind, w.at desc, w.partition_id) as ids
            from (
                select w.partition_id, min(w.kind) as kind, max(w.at) as at
                from (
                    (select o.partition_id, 0 as kind, null::timestamptz as at
                     from queen_store.oldest_lanes o
                     where o.group_id = q.group_id)
                    union all
                    (select p.id, 1, p.last_write_at
                     from queen_store.partitions p
                     where p.queue_id = q.id
                     order by p.last_write_at desc
                     limit q.share + 1)) w
                group by w.partition_id
                order by min(w.kind), max(w.at) desc, w.partition_id
                limit q.share + 1) w) l
    ),
    lane as materialized (
        select q.place, d.partition_id, p.name, p.last_offset, d.pending, d.processing,
               row_number() over (order by q.place, d.partition_id) as ordinal
        from queue q
        join shown s on s.place = q.place
        cross join lateral queen_store.lane_depths(s.ids, q.group_id) d
        cross join lateral (
            select p.name, p.last_offset
            from queen_store.partitions p
            where p.id = d.partition_id
            limit 1) p
    )
    select q.name, q.conflation, l.name, l.last_offset, l.pending, l.processing > 0,
           case when l.pending > 0 then u.unread_at end, s.complete
    from queue q
    join shown s on s.place = q.place
    left join lane l on l.place = q.place
    left join queen_store.unread_since(
        array(select l.partition_id from lane l order by l.ordinal),
        array(select l.last_offset - l.pending + 1 from lane l order by l.ordinal)) u
        on u.ordinal = l.ordinal
    order by q.name, l.pending desc nulls last, l.name;
end
$$;
comment on function queen_store.group_lanes(uuid, text, integer) is
    'Where a group stands in the lanes of its queues. Locks: none.';

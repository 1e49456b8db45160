-- What administrators ask about the lanes of one queue: of how many, the answer says; of the rest
-- it has the sums.

-- queen_store.lane_depths: how far lanes are from being consumed.
-- Called by  read_depth, list_lanes, group_lanes
-- Locks      none
-- Returns    one row per lane that exists. p_group_id null = by the slowest consumer, as
--            lane_places says who is one, else all counts as pending; a group that has no place
--            in a lane has all of it before itself. processing is what live leases hold of that
-- Cost       that of lane_places
create or replace function queen_store.lane_depths(p_partition_ids bigint[], p_group_id integer)
returns table (partition_id bigint, pending bigint, processing bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    select l.partition_id, l.unread, least(l.live, l.unread)
    from (
        select p.partition_id, coalesce(sum(p.live), 0)::bigint as live,
               coalesce(
                   max(p.unread) filter (where p_group_id is not null or p.is_consumer),
                   max(p.unread), max(p.kept)) as unread
        from queen_store.lane_places(p_partition_ids, p_group_id) p
        group by p.partition_id) l;
end
$$;
comment on function queen_store.lane_depths(bigint[], integer) is
    'How far lanes are from being consumed, by a group or by the slowest. Locks: none.';

-- queen_store.read_depth: how much of a queue a group has yet to consume, or its slowest group, and
-- in which lanes. Counted at this moment where that is_countable; else the sums are told, and the
-- lanes are those with the oldest unread messages, then those written last.
-- Called by  LaneReads
-- Locks      none
-- Returns    no row = no such queue; else at least one, all of them with the same sums: the first
--            p_limit lanes, those with most pending first; partition null = it has none. Told sums
--            count lanes as the last walk found them. age_seconds 0 = counted now, null = nothing
--            was told
-- Cost       that of is_countable, and that of lane_depths for at most 10,000 lanes, or of
--            told_amounts
create or replace function queen_store.read_depth(
    p_tenant_id uuid, p_queue text, p_group text, p_limit integer)
returns table (
    conflation boolean, lanes bigint, pending bigint, processing bigint, lanes_pending bigint,
    lanes_ready bigint, age_seconds integer, partition text, lane_pending bigint,
    lane_processing bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_places_max constant integer := 100000;
    v_queue_id integer;
    -- Null = of all groups; 0 = of one that does not exist.
    v_group_id integer;
    v_conflation boolean;
    v_ids bigint[];
    v_groups integer;
begin
    select q.id, case when p_group is not null then coalesce(g.id, 0) end,
           coalesce(g.conflation, false)
    into v_queue_id, v_group_id, v_conflation
    from (
        select q.id
        from queen_store.queues q
        where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null
        limit 1) q
    left join lateral (
        select g.id, g.conflation
        from queen_store.groups g
        where g.queue_id = q.id and g.name = p_group and g.is_known
        limit 1) g on true;
    if not found then
        return;
    end if;
    if queen_store.is_countable(v_queue_id, v_group_id) then
        v_ids := array(
            select p.id from queen_store.partitions p where p.queue_id = v_queue_id);
        return query
        with depth as materialized (
            select d.*
            from queen_store.lane_depths(v_ids, v_group_id) d
        ),
        total as (
            select count(*) as lanes, coalesce(sum(d.pending), 0)::bigint as pending,
                   coalesce(sum(d.processing), 0)::bigint as processing,
                   count(*) filter (where d.pending > 0) as lanes_pending,
                   count(*) filter (where d.pending > d.processing) as lanes_ready
            from depth d
        )
        select v_conflation, t.lanes, t.pending, t.processing, t.lanes_pending, t.lanes_ready, 0,
               d.name, d.pending, d.processing
        from total t
        left join lateral (
            select p.name, d.pending, d.processing
            from (
                select d.*
                from depth d
                order by d.pending desc, d.partition_id
                limit p_limit) d
            cross join lateral (
                select p.name
                from queen_store.partitions p
                where p.id = d.partition_id
                limit 1) p) d on true
        order by d.pending desc, d.name;
        return;
    end if;
    select count(*) into v_groups
    from (
        select
        from queen_store.groups g
        where g.queue_id = v_queue_id and (v_group_id is null or g.id = v_group_id)
        limit v_places_max) g;
    select array_agg(l.partition_id) into v_ids
    from (
        select l.partition_id
        from (
            (select o.partition_id, o.unread_at as at, 0 as kind
             from queen_store.groups g
             join queen_store.oldest_lanes o on o.group_id = g.id
             where g.queue_id = v_queue_id and (v_group_id is null or g.id = v_group_id)
             order by o.unread_at
             limit p_limit)
            union all
            (select p.id, p.last_write_at, 1
             from queen_store.partitions p
             where p.queue_id = v_queue_id
             order by p.last_write_at desc
             limit p_limit)) l
        group by l.partition_id
        order by min(l.kind), min(l.at) filter (where l.kind = 0), max(l.at) desc,
                 l.partition_id
        limit least(p_limit, v_places_max / greatest(v_groups, 1))) l;
    return query
    with depth as materialized (
        select d.*
        from queen_store.lane_depths(v_ids, v_group_id) d
    ),
    told as (
        select o.lanes, coalesce(t.pending, o.messages) as pending,
               coalesce(t.processing, 0) as processing,
               case when t.pending is null then o.behind else t.behind end as behind,
               coalesce(t.age_seconds, o.age_seconds) as age_seconds
        from (select) n
        left join queen_store.told_amounts(array[v_queue_id]) o on o.group_id = 0
        left join queen_store.told_amounts(array[v_queue_id]) t
            on t.group_id = coalesce(v_group_id, 0) and v_group_id is distinct from 0
    )
    select v_conflation, coalesce(t.lanes, 0), coalesce(t.pending, 0), coalesce(t.processing, 0),
           coalesce(least(t.behind, t.pending), 0),
           coalesce(least(t.behind, t.pending - t.processing), 0), t.age_seconds,
           d.name, d.pending, d.processing
    from told t
    left join lateral (
        select p.name, d.pending, d.processing
        from depth d
        cross join lateral (
            select p.name
            from queen_store.partitions p
            where p.id = d.partition_id
            limit 1) p) d on true
    order by d.pending desc, d.name;
end
$$;
comment on function queen_store.read_depth(uuid, text, text, integer) is
    'How much of a queue a group has yet to consume, and in which lanes. Locks: none.';

-- queen_store.list_lanes: a page of the lanes of a queue, by name.
-- Called by  LaneReads
-- Locks      none
-- Returns    at most p_limit lanes behind p_after (null = from the first on) and behind p_offset
--            more, whose names hold p_search, whatever its case (null = all); fewer than p_limit
--            where the queue has so many groups that it would be over 100,000 places of groups.
--            Pending and processing as lane_depths says; dead letters are counted to 1,000.
--            complete = false in all of them: there are more lanes, or may be, for 100,000 were
--            looked at
-- Cost       that of lane_depths, over at most 100,000 entries of the index of names
create or replace function queen_store.list_lanes(
    p_queue_id integer, p_search text, p_after text, p_limit integer, p_offset integer)
returns table (
    partition_id bigint, partition text, created_at timestamptz, last_offset bigint,
    log_start bigint, oldest_at timestamptz, newest_at timestamptz, last_write_at timestamptz,
    pending bigint, processing bigint, dead_letters bigint, complete boolean)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
-- As in lane_named: names are found by name, whatever the table was like when this was planned.
set enable_sort = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_places_max constant integer := 100000;
    v_look_max constant integer := 100000;
    v_after constant text := coalesce(p_after, '');
    v_limit integer;
    -- One more than the page, to know whether these are all.
    v_names text[];
    v_ids bigint[];
    v_complete boolean;
begin
    select least(p_limit, v_places_max / greatest(count(*), 1)::integer) into v_limit
    from (
        select
        from queen_store.groups g
        where g.queue_id = p_queue_id
        limit v_places_max) g;
    -- Nothing but names, which the index has, until the page is known.
    if p_search is null then
        v_names := array(
            select p.name
            from queen_store.partitions p
            where p.queue_id = p_queue_id and p.name > v_after
            order by p.name
            limit v_limit + 1
            offset p_offset);
        v_complete := cardinality(v_names) <= v_limit;
    else
        v_names := array(
            select l.name
            from (
                select p.name
                from queen_store.partitions p
                where p.queue_id = p_queue_id and p.name > v_after
                order by p.name
                limit v_look_max) l
            where strpos(lower(l.name), lower(p_search)) > 0
            order by l.name
            limit v_limit + 1
            offset p_offset);
        v_complete := cardinality(v_names) <= v_limit and not exists (
            select
            from queen_store.partitions p
            where p.queue_id = p_queue_id and p.name > v_after
            order by p.name
            limit 1
            offset v_look_max - 1);
    end if;
    v_ids := array(
        select (
            select p.id
            from queen_store.partitions p
            where p.queue_id = p_queue_id and p.name >= n.name
            order by p.name
            limit 1)
        from unnest(v_names[: v_limit]) n (name));
    return query
    select p.id, p.name, p.created_at, p.last_offset, p.log_start,
           case when p.last_offset >= p.log_start then p.oldest_live_at end,
           case when p.last_offset >= p.log_start then p.last_created_at end,
           p.last_write_at, d.pending, d.processing, g.dead_letters, v_complete
    from queen_store.lane_depths(v_ids, null) d
    cross join lateral (
        select p.*
        from queen_store.partitions p
        where p.id = d.partition_id
        limit 1) p
    cross join lateral (
        select count(*) as dead_letters
        from (
            select
            from queen_store.dead_letters x
            where x.partition_id = p.id
            limit 1000) x) g
    order by p.name;
end
$$;
comment on function queen_store.list_lanes(integer, text, text, integer, integer) is
    'A page of the lanes of a queue, by name. Locks: none.';

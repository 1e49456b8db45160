-- What administrators ask about queues. Nothing here adds up lanes: numbers come from the counts,
-- and where a queue has few lanes from them.

-- queen_store.dead_letter_depths: how many dead letters there are.
-- Called by  DeadLetterDepthReads
-- Locks      none
-- Returns    one row with queue null = all of them, and first; then the p_limit names of queues
--            with most, whoever owns them, and the sum of the others as other: a queue of that
--            name is in it
-- Cost       1 statement over counts and count_deltas
create or replace function queen_store.dead_letter_depths(p_limit integer)
returns table (queue text, dead_letters bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with depth as materialized (
        select q.name, sum(c.dead_letters)::bigint as dead_letters
        from (
            select c.queue_id, c.dead_letters
            from queen_store.counts c
            where c.dead_letters <> 0
            union all
            select d.queue_id, d.dead_letters
            from queen_store.count_deltas d
            where d.dead_letters <> 0) c
        join queen_store.queues q on q.id = c.queue_id and q.deleted_at is null
        group by q.name
        having sum(c.dead_letters) > 0
    )
    select null::text, coalesce(sum(d.dead_letters), 0)::bigint
    from depth d
    union all
    select x.label, sum(x.dead_letters)::bigint
    from (
        select case when row_number() over (order by d.dead_letters desc, d.name) <= p_limit
                    then d.name else 'other' end as label,
               d.dead_letters
        from depth d) x
    group by x.label
    order by 1 nulls first;
end
$$;
comment on function queen_store.dead_letter_depths(integer) is
    'Number of dead letters, of all queues and of those with most. Locks: none.';

-- queen_store.list_queues: a page of the queues of a tenant that filters let through, by name or
-- newest first.
-- Called by  QueueListReads
-- Locks      none
-- Returns    total = queues that the filters let through. Null = any, for every filter; p_search is
--            sought in the name, whatever its case. Lanes and messages are those of this moment
--            where p_live and the queue has at most as many lanes as its share of 10,000, at
--            least 10; all else is told. age_seconds null = nothing was told yet, and of a queue
--            without lanes there is nothing to tell
-- Cost       3 statements: one over the queues of the tenant, that of told_counts, and at most
--            10,000 lanes, or 11 per queue
create or replace function queen_store.list_queues(
    p_tenant_id uuid, p_queue text, p_namespace text, p_task text, p_search text,
    p_newest boolean, p_live boolean, p_limit integer, p_offset integer)
returns table (
    queue_id integer, queue text, namespace text, task text, created_at timestamptz,
    lanes bigint, messages bigint, pending bigint, processing bigint, completed bigint,
    dead_letters bigint, retained_bytes bigint, disk_bytes bigint, age_seconds integer,
    total bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_mergejoin = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_ids integer[];
    v_total bigint;
    v_lanes_max integer;
begin
    select array_agg(q.id order by q.place)
               filter (where q.place > p_offset and q.place <= p_offset::bigint + p_limit),
           count(*)
    into v_ids, v_total
    from (
        select q.id,
               row_number() over (
                   order by case when p_newest then q.id end desc, q.name) as place
        from queen_store.queues q
        where q.tenant_id = p_tenant_id and q.deleted_at is null
          and (p_queue is null or q.name = p_queue)
          and (p_namespace is null or q.namespace = p_namespace)
          and (p_task is null or q.task = p_task)
          and (p_search is null or strpos(lower(q.name), lower(p_search)) > 0)) q;
    v_lanes_max := greatest(10000 / greatest(cardinality(v_ids), 1), 10);
    return query
    select q.id, q.name, q.namespace, q.task, q.created_at,
           case when l.lanes <= v_lanes_max then l.lanes else coalesce(t.lanes, 0) end,
           m.messages,
           m.pending, least(coalesce(t.processing, 0), m.pending),
           coalesce(t.completed, 0), coalesce(t.dead_letters, 0), coalesce(t.retained_bytes, 0),
           coalesce(t.disk_bytes, 0),
           coalesce(t.age_seconds, case when l.lanes > 0 then -1 end),
           v_total
    from unnest(v_ids) with ordinality i (queue_id, place)
    join queen_store.queues q on q.id = i.queue_id
    left join queen_store.told_counts(v_ids) t on t.queue_id = i.queue_id and t.group_id = 0
    left join lateral (
        select count(*) as lanes,
               coalesce(sum(p.last_offset - p.log_start + 1), 0)::bigint as messages
        from (
            select p.last_offset, p.log_start
            from queen_store.partitions p
            where p.queue_id = i.queue_id
            limit v_lanes_max + 1) p) l on p_live
    cross join lateral (
        -- Of what was not told yet nobody can have told that it was consumed.
        select a.messages,
               least(coalesce(t.pending, 0)
                         + greatest(a.messages - coalesce(t.messages, 0), 0),
                     a.messages) as pending
        from (
            select case when l.lanes <= v_lanes_max then l.messages
                        else coalesce(t.messages, 0) end as messages
            offset 0) a
        offset 0) m
    order by i.place;
end
$$;
comment on function queen_store.list_queues(
    uuid, text, text, text, text, boolean, boolean, integer, integer) is
    'A page of the queues of a tenant with what they hold. Locks: none.';

-- queen_store.list_labels: what the queues of a tenant hold, by namespace or by task.
-- Called by  QueueListReads
-- Locks      none
-- Returns    at most p_limit labels, in their order; queues without one are left out. age_seconds
--            is that of the oldest number, -1 = one is being counted, null = nothing was told
-- Cost       2 statements: one over the queues of the tenant, and that of told_amounts
create or replace function queen_store.list_labels(
    p_tenant_id uuid, p_by_task boolean, p_limit integer)
returns table (
    label text, queues bigint, lanes bigint, messages bigint, pending bigint,
    age_seconds integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_ids integer[];
    v_labels text[];
begin
    select array_agg(q.id), array_agg(q.label) into v_ids, v_labels
    from (
        select q.id, case when p_by_task then q.task else q.namespace end as label
        from queen_store.queues q
        where q.tenant_id = p_tenant_id and q.deleted_at is null) q
    where q.label <> '';
    return query
    select i.label, count(*), coalesce(sum(t.lanes), 0)::bigint,
           coalesce(sum(t.messages), 0)::bigint,
           coalesce(sum(t.pending - t.processing), 0)::bigint,
           case when min(t.age_seconds) = -1 then -1 else max(t.age_seconds) end
    from unnest(v_ids, v_labels) i (queue_id, label)
    left join queen_store.told_amounts(v_ids) t on t.queue_id = i.queue_id and t.group_id = 0
    group by i.label
    order by i.label
    limit p_limit;
end
$$;
comment on function queen_store.list_labels(uuid, boolean, integer) is
    'What the queues of a tenant hold, by namespace or by task. Locks: none.';

-- queen_store.read_overview: what a tenant has, in one row.
-- Called by  QueueListReads
-- Locks      none
-- Returns    one row. stored = messages ever stored, acked_ever = completed by acknowledgements,
--            failed_ever = failed ones: with p_whole of all tenants, whatever was deleted since,
--            else of queues that are there, and failed_ever is null. pushed and acked =
--            messages stored, and acknowledgements that completed one, in the newest five minutes
--            of which all brokers have reported. Ages are those of the oldest unread
--            messages per group, of the 1,000 groups that had waited longest when the walk found
--            their lanes, as these are now; null = no group has any. age_seconds as in list_labels
-- Cost       4 statements, 5 with p_whole: one over the queues of the tenant, that of told_amounts,
--            the buckets of five minutes, and the oldest lanes of all groups of the tenant;
--            oldest_unread of 1,000 groups, over their share of 10,000 lanes
create or replace function queen_store.read_overview(p_tenant_id uuid, p_whole boolean)
returns table (
    queues bigint, namespaces bigint, tasks bigint, lanes bigint, stored bigint, pushed bigint,
    acked bigint, messages bigint, pending bigint, processing bigint, completed bigint,
    dead_letters bigint, acked_ever bigint, failed_ever bigint,
    pending_average double precision, pending_most bigint, age_average double precision,
    age_median double precision, age_most double precision, age_seconds integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_groups_max constant integer := 1000;
    v_lanes_max constant integer := 10000;
    v_now timestamptz := clock_timestamp();
    v_last timestamptz := queen_store.bucket_at(1, v_now) - interval '2 minutes';
    v_ids integer[];
begin
    select coalesce(array_agg(q.id), '{}'), count(*), count(distinct nullif(q.namespace, '')),
           count(distinct nullif(q.task, ''))
    into v_ids, queues, namespaces, tasks
    from queen_store.queues q
    where q.tenant_id = p_tenant_id and q.deleted_at is null;
    select coalesce(sum(t.lanes) filter (where t.group_id = 0), 0),
           coalesce(sum(t.stored) filter (where t.group_id = 0), 0),
           coalesce(sum(t.messages) filter (where t.group_id = 0), 0),
           coalesce(sum(t.pending) filter (where t.group_id = 0), 0),
           coalesce(sum(t.processing) filter (where t.group_id = 0), 0),
           coalesce(sum(t.completed) filter (where t.group_id = 0), 0),
           coalesce(sum(t.dead_letters) filter (where t.group_id = 0), 0),
           coalesce(sum(t.acked) filter (where t.group_id = 0), 0),
           avg(t.pending) filter (where t.group_id > 0),
           max(t.pending) filter (where t.group_id > 0),
           case when min(t.age_seconds) = -1 then -1 else max(t.age_seconds) end
    into lanes, stored, messages, pending, processing, completed, dead_letters, acked_ever,
         pending_average, pending_most, age_seconds
    from queen_store.told_amounts(v_ids) t;
    if p_whole then
        select t.push_messages, t.acked, t.ack_failed into stored, acked_ever, failed_ever
        from queen_store.totals t;
    end if;
    select coalesce(sum(b.push_messages), 0), coalesce(sum(b.acks), 0) into pushed, acked
    from queen_store.queue_buckets b
    join queen_store.queues q on q.id = b.queue_id
    where b.minutes = 1 and b.bucket > v_last - interval '5 minutes' and b.bucket <= v_last
      and q.tenant_id = p_tenant_id and q.deleted_at is null;
    select avg(a.age), percentile_cont(0.5) within group (order by a.age), max(a.age)
    into age_average, age_median, age_most
    from (
        select extract(epoch from v_now - u.unread_at)::double precision as age
        from (
            select g.id, count(*) over ()::integer as groups
            from (
                select g.id
                from queen_store.groups g
                join queen_store.oldest_lanes o on o.group_id = g.id
                where g.queue_id = any (v_ids)
                group by g.id
                order by min(o.unread_at), g.id
                limit v_groups_max) g) g
        cross join lateral queen_store.oldest_unread(g.id, v_lanes_max / g.groups) u) a
    where a.age >= 0;
    return next;
end
$$;
comment on function queen_store.read_overview(uuid, boolean) is
    'What a tenant has, in one row. Locks: none.';

-- queen_store.oldest_unread: since when the oldest message that a group has not consumed is there:
-- the lane that had it when the walk found it, as it is now.
-- Called by  read_overview, list_groups
-- Locks      none
-- Returns    no row = the walk has found no lane with such a message, or those that were looked at
--            have been read since
-- Cost       1 statement over at most p_lanes_max of 100 lanes, up to the first that has still
--            something unread; of that effective_cursor and 1 probe of its segments
create or replace function queen_store.oldest_unread(p_group_id integer, p_lanes_max integer)
returns table (partition_id bigint, unread_at timestamptz)
language plpgsql stable parallel safe
-- Or a page of groups is believed to become so many rows that nothing but nested loops is cheap.
rows 1
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    select o.partition_id, f.unread_at
    from (
        select o.partition_id
        from queen_store.oldest_lanes o
        where o.group_id = p_group_id
        order by o.unread_at, o.partition_id
        limit p_lanes_max) o
    cross join lateral (
        select p.last_offset
        from queen_store.partitions p
        where p.id = o.partition_id
        limit 1) p
    cross join lateral (
        select queen_store.effective_cursor(o.partition_id, p_group_id) as committed
        offset 0) e
    cross join lateral (
        select queen_store.first_created_at(o.partition_id, 0, e.committed + 1) as unread_at
        offset 0) f
    where p.last_offset > e.committed and f.unread_at is not null
    limit 1;
end
$$;
comment on function queen_store.oldest_unread(integer, integer) is
    'Since when the oldest message that a group has not consumed is there. Locks: none.';

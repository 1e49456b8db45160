-- Expiry: messages whose time is over leave their lanes. It is logical: log_start moves up to the
-- first segment that stays, and everybody reads from there on; no segment is deleted. The rows go,
-- many lanes at once, with the epoch they are in.
--
-- Three rules, all of them for whole segments and by age; a message exactly as old as the rule says
-- stays:
-- retention_seconds            read or not, where retention is enabled
-- max_wait_seconds             the same, enabled or not
-- completed_retention_seconds  only what every registered group has passed, where retention is
--                              enabled; a group that has not touched the lane stands where it would
--                              begin; without a group nothing has been read
-- The first two are the age of unread messages, the queue's unread_expiry_seconds.

-- queen_store.has_expired: whether a lane has messages that are old enough to go.
-- Called by  StorageProcedures
-- Locks      none
-- Returns    true also where a group turns out to hold them
-- Cost       1 statement, one index probe per queue with a rule
create or replace function queen_store.has_expired(p_now timestamptz)
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
begin
    return exists (
        select
        from queen_store.queues q
        cross join lateral (
            select greatest(p.oldest_live_at, p.expiry_held_at) as from_at
            from queen_store.partitions p
            where p.queue_id = q.id and p.oldest_live_at is not null
            order by greatest(p.oldest_live_at, p.expiry_held_at)
            limit 1) p
        where q.deleted_at is null and q.expiry_seconds is not null
          and p.from_at < p_now - make_interval(secs => q.expiry_seconds));
end
$$;
comment on function queen_store.has_expired(timestamptz) is
    'Whether a lane has messages that are old enough to go. Locks: none.';

-- queen_store.expire: a step of expiry: lanes that are due, the longest due of each queue first,
-- queue after queue. A lane where a group holds everything that is old enough is left alone for as
-- long again as it has been due, at most 10 minutes, and never beyond the age of unread messages.
-- Commits without a flush, for what is lost is done again: called by brokers in autocommit only.
-- Called by  StorageProcedures
-- Locks      partitions, skip locked; retention_history: rows of this minute, by queue and rule
-- Returns    one row: lanes looked at, messages gone by rule, and the queue that was served last,
--            to begin the next step behind it; null = no queue behind it has anything due; segments
--            and bytes of what is gone, of a lane that loses over a hundred at once an estimate;
--            the queues of these lanes
-- Cost       6 statements for any number of lanes; per lane up to some 20 index probes, up to a
--            hundred segments that go, of which nothing is decompressed, and what effective_cursor
--            takes per group where a rule waits for readers, or does not
create or replace function queen_store.expire(
    p_now timestamptz, p_after_queue_id integer, p_limit integer)
returns table (
    lanes integer, retention bigint, completed_retention bigint, max_wait_time_eviction bigint,
    last_queue_id integer, segments bigint, bytes bigint, queue_ids integer[])
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_held_max constant interval := interval '10 minutes';
    -- Of a lane, segments that are looked at to say how many went, and how large they were.
    v_measured_max constant integer := 100;
    -- Locked lanes, ascending, and by place in that order what becomes of them.
    v_ids bigint[];
    v_queue_ids integer[];
    v_starts bigint[];
    v_oldest timestamptz[];
    v_held timestamptz[];
    -- By lane: messages that go unread or not, messages that every group has read.
    v_unread bigint[];
    v_read bigint[];
    -- And per message, segments and bytes.
    v_segments numeric[];
    v_bytes numeric[];
    -- What groups are moved on by that.
    v_moved_queue_ids integer[];
    v_moved_group_ids integer[];
    v_moved bigint[];
begin
    select array_agg(l.id order by l.id), array_agg(l.queue_id order by l.id)
    into v_ids, v_queue_ids
    from (
        select p.id, q.id as queue_id
        from (
            select q.id, p_now - make_interval(secs => q.expiry_seconds) as due_before
            from queen_store.queues q
            where q.id > p_after_queue_id and q.deleted_at is null
              and q.expiry_seconds is not null
            order by q.id
            offset 0) q
        cross join lateral (
            select p.id
            from queen_store.partitions p
            where p.queue_id = q.id and p.oldest_live_at is not null
              and greatest(p.oldest_live_at, p.expiry_held_at) < q.due_before
            order by greatest(p.oldest_live_at, p.expiry_held_at)
            limit p_limit
            for no key update skip locked) p
        limit p_limit) l;
    if v_ids is null then
        return query
        select 0, 0::bigint, 0::bigint, 0::bigint, null::integer, 0::bigint, 0::bigint,
               '{}'::integer[];
        return;
    end if;

    -- A later statement than the locks, so that it sees what the last holders of the lanes stored.
    with lane as (
        select p.id, i.queue_id, p.log_start, p.last_offset, p.last_created_at, q.due_before,
               make_interval(secs => q.unread_expiry_seconds - q.expiry_seconds) as unread_later,
               case when q.unread_before is null then p.log_start
                    else greatest(p.log_start, 1 + queen_store.start_committed(
                        p.id, p.log_start, p.last_offset, p.last_created_at, 'instant',
                        q.unread_before)) end as unread_start,
               -- Where no age is shorter than that of unread messages nothing waits for readers.
               case when q.unread_before is null or q.unread_before < q.due_before
                    then (
                        select min(queen_store.effective_cursor(p.id, g.id)) + 1
                        from queen_store.groups g
                        where g.queue_id = i.queue_id) end as read_to
        from unnest(v_ids, v_queue_ids) i (id, queue_id)
        cross join lateral (
            select q.expiry_seconds, q.unread_expiry_seconds,
                   p_now - make_interval(secs => q.expiry_seconds) as due_before,
                   p_now - make_interval(secs => q.unread_expiry_seconds) as unread_before
            from queen_store.queues q
            where q.id = i.queue_id
            limit 1) q
        cross join lateral (
            select p.id, p.log_start, p.last_offset, p.last_created_at
            from queen_store.partitions p
            where p.id = i.id
            limit 1) p
        offset 0
    ),
    -- The first offset that stays, as the rules have it.
    bound as (
        select l.*,
               greatest(l.unread_start, case when l.read_to > l.unread_start then least(
                   l.read_to, 1 + queen_store.start_committed(
                       l.id, l.log_start, l.last_offset, l.last_created_at, 'instant',
                       l.due_before)) end) as bound
        from lane l
        offset 0
    ),
    -- The segment that holds it, else the first one behind it.
    kept as (
        select b.*, coalesce(s.base_offset, b.last_offset + 1) as new_start,
               s.created_at as oldest_at
        from bound b
        left join lateral (
            select coalesce(
                (select h.base_offset
                 from (select s.base_offset, s.end_offset
                       from queen_store.segments s
                       where s.partition_id = b.id and s.base_offset <= b.bound
                       order by s.base_offset desc
                       limit 1) h
                 where h.end_offset >= b.bound),
                (select s.base_offset
                 from queen_store.segments s
                 where s.partition_id = b.id and s.base_offset > b.bound
                 order by s.base_offset
                 limit 1)) as base_offset
            offset 0) f on b.bound <= b.last_offset
        left join lateral (
            select s.base_offset, s.created_at
            from queen_store.segments s
            where s.partition_id = b.id and s.base_offset = f.base_offset
            limit 1) s on true
        offset 0
    ),
    measured as (
        select k.*, coalesce(m.segments / m.messages, 0) as segments,
               coalesce(m.bytes / m.messages, 0) as bytes
        from kept k
        left join lateral (
            select count(*)::numeric as segments, sum(s.bytes)::numeric as bytes,
                   sum(s.messages) as messages
            from (
                select s.end_offset - s.base_offset + 1 as messages,
                       octet_length(s.keys) + coalesce(octet_length(s.frames), 0) as bytes
                from queen_store.segments s
                where s.partition_id = k.id and s.base_offset >= k.log_start
                  and s.base_offset < k.new_start
                order by s.base_offset
                limit v_measured_max) s) m on k.new_start > k.log_start
        offset 0
    )
    -- With their numbers once more: what belongs together goes by its place.
    select array_agg(k.id order by k.id), array_agg(k.queue_id order by k.id),
           array_agg(k.new_start order by k.id), array_agg(k.oldest_at order by k.id),
           array_agg(case when k.oldest_at < k.due_before then least(
               k.due_before + least(k.due_before - k.oldest_at, v_held_max),
               k.oldest_at + k.unread_later) end order by k.id),
           array_agg(k.unread_start - k.log_start order by k.id),
           array_agg(k.new_start - k.unread_start order by k.id),
           array_agg(k.segments order by k.id), array_agg(k.bytes order by k.id)
    into v_ids, v_queue_ids, v_starts, v_oldest, v_held, v_unread, v_read, v_segments, v_bytes
    from measured k;

    -- A group that has not read what goes is moved on by it.
    select array_agg(m.queue_id), array_agg(m.group_id), array_agg(m.messages)
    into v_moved_queue_ids, v_moved_group_ids, v_moved
    from (
        select i.queue_id, g.id as group_id, sum(i.new_start - 1 - e.committed) as messages
        from unnest(v_ids, v_queue_ids, v_starts, v_unread) i (id, queue_id, new_start, unread)
        cross join lateral (
            select g.id
            from queen_store.groups g
            where g.queue_id = i.queue_id
            offset 0) g
        cross join lateral (
            select queen_store.effective_cursor(i.id, g.id) as committed
            offset 0) e
        where i.unread > 0 and e.committed < i.new_start - 1
        group by i.queue_id, g.id) m;

    update queen_store.partitions p
    set log_start = greatest(p.log_start, v_starts[width_bucket(p.id, v_ids)]),
        oldest_live_at = v_oldest[width_bucket(p.id, v_ids)],
        expiry_held_at = v_held[width_bucket(p.id, v_ids)]
    where p.id = any (v_ids);

    perform queen_store.add_counts(
        v_queue_ids || v_moved_queue_ids,
        array_fill(0, array[cardinality(v_queue_ids)]) || v_moved_group_ids, null, null,
        array(
            select i.unread + i.read
            from unnest(v_unread, v_read) with ordinality i (unread, read, ordinal)
            order by i.ordinal) || v_moved,
        null, null, null, null, false);

    return query
    with counted as materialized (
        select q.tenant_id, q.name, r.rule, sum(r.messages) as messages, count(*) as lanes,
               round(sum(r.messages * i.segments))::bigint as segments,
               round(sum(r.messages * i.bytes))::bigint as bytes
        from unnest(v_queue_ids, v_unread, v_read, v_segments, v_bytes)
            i (queue_id, unread, read, segments, bytes)
        cross join lateral (
            select q.tenant_id, q.name, q.max_wait_seconds = q.unread_expiry_seconds as evicts
            from queen_store.queues q
            where q.id = i.queue_id
            limit 1) q
        cross join lateral (
            values (case when q.evicts then 'max_wait_time_eviction' else 'retention' end,
                    i.unread),
                   ('completed_retention', i.read)) r (rule, messages)
        where r.messages > 0
        group by q.tenant_id, q.name, r.rule
    ),
    noted as (
        insert into queen_store.retention_history as h (
            minute, tenant_id, queue, rule, messages, lanes, steps, segments, bytes)
        select date_trunc('minute', p_now), c.tenant_id, c.name, c.rule, c.messages, c.lanes, 1,
               c.segments, c.bytes
        from counted c
        order by c.tenant_id, c.name, c.rule
        on conflict (minute, tenant_id, queue, rule) do update
        set messages = h.messages + excluded.messages, lanes = h.lanes + excluded.lanes,
            steps = h.steps + 1, segments = h.segments + excluded.segments,
            bytes = h.bytes + excluded.bytes
    )
    select cardinality(v_ids),
           coalesce(sum(c.messages) filter (where c.rule = 'retention'), 0)::bigint,
           coalesce(sum(c.messages) filter (where c.rule = 'completed_retention'), 0)::bigint,
           coalesce(sum(c.messages) filter (where c.rule = 'max_wait_time_eviction'), 0)::bigint,
           case when cardinality(v_ids) = p_limit
                then (select max(i.queue_id) from unnest(v_queue_ids) i (queue_id)) end,
           coalesce(sum(c.segments), 0)::bigint, coalesce(sum(c.bytes), 0)::bigint,
           array(select distinct i.queue_id from unnest(v_queue_ids) i (queue_id))
    from counted c;
    perform set_config('synchronous_commit', 'off', true);
end
$$;
comment on function queen_store.expire(timestamptz, integer, integer) is
    'A step of expiry: moves log_start of due lanes past what is too old. Locks: partitions, skip locked; retention_history: rows of this minute, by queue and rule.';

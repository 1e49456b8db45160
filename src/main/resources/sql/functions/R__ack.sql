-- Acknowledgements: an offset commit per (lane, group). ack_batches takes what nearly all acks are,
-- the whole leased batch by its lease; ack_messages takes everything else, by message key.

-- queen_store.ack_batches: commits whole leased batches of many callers.
-- Called by  AckProcedures, transact
-- Locks      cursors, skip locked: only those that still hold that lease and batch; groups at a
--            group's first ack ever, skip locked
-- Returns    one row per input: released; noop = acknowledged before; busy = locked by somebody
--            else, send it alone; lost = not the holder any more, or not that batch; conflated =
--            messages retired unread, null when the batch was not conflated; messages that the
--            cursor passed, and whose lease is over
-- Cost       3 statements whatever the number of lanes, 1 more where a cursor lags behind the open
--            epoch; primary keys, and places of rows it has locked
create or replace function queen_store.ack_batches(
    p_partition_ids bigint[], p_group_ids integer[], p_lease_ids uuid[], p_batch_ends bigint[])
returns table (
    ordinal integer, verdict text, last_offset bigint, conflated bigint, passed bigint,
    ended bigint)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_open_epoch integer;
    -- Of the cursors that are held, as they stay until the commit.
    v_ordinals integer[];
    v_places tid[];
    v_generations integer[];
    v_epochs integer[];
    v_committed bigint[];
    v_expires_at timestamptz[];
    v_conflated boolean[];
begin
    select array_agg(i.ordinal), array_agg(c.ctid), array_agg(c.generation), array_agg(c.epoch),
           array_agg(c.committed), array_agg(c.lease_expires_at), array_agg(c.lease_conflated)
    into v_ordinals, v_places, v_generations, v_epochs, v_committed, v_expires_at, v_conflated
    from (
        select distinct on (u.partition_id, u.group_id, u.lease_id, u.batch_end) u.*
        from unnest(p_partition_ids, p_group_ids, p_lease_ids, p_batch_ends)
            with ordinality u (partition_id, group_id, lease_id, batch_end, ordinal)
        order by u.partition_id, u.group_id, u.lease_id, u.batch_end, u.ordinal) i
    cross join lateral (
        select c.ctid, c.generation, c.epoch, c.committed, c.lease_expires_at,
               c.lease_conflated
        from queen_store.cursors c
        where c.partition_id = i.partition_id and c.group_id = i.group_id
          and c.lease_id = i.lease_id and c.batch_end = i.batch_end
          and c.lease_expires_at > v_now
        for no key update skip locked) c;

    if v_ordinals is not null then
        -- Whoever waits for its lease to run out may not be told that it did not.
        v_now := clock_timestamp();
        select e.epoch into v_open_epoch
        from queen_store.epochs e
        where e.state = 'open' and current_setting('transaction_isolation') = 'read committed';
        if v_open_epoch <> any (v_epochs) then
            -- A lower bound only, which no other than the open epoch may become: evacuation looks
            -- for cursors that name an older one, and does not see this commit yet.
            select array_agg(
                case when (
                        select s.epoch
                        from queen_store.segments s
                        where s.partition_id = p_partition_ids[i.ordinal] and s.epoch >= i.epoch
                          and s.base_offset <= p_batch_ends[i.ordinal]
                        order by s.base_offset desc
                        limit 1) = v_open_epoch then v_open_epoch else i.epoch end
                order by i.nth)
            into v_epochs
            from unnest(v_ordinals, v_epochs) with ordinality i (ordinal, epoch, nth);
        end if;
        return query
        with held as materialized (
            select i.ordinal, i.place, i.group_id, i.epoch, i.batch_end, p.last_offset,
                   i.batch_end - greatest(i.committed, p.log_start - 1) as passed,
                   i.batch_end - i.committed as ended,
                   case when i.expires_at > v_now and q.id is not null
                         and q.deleted_at is null and g.generation = i.generation
                        then 'released' else 'lost' end as verdict,
                   case when i.conflated then i.batch_end - i.committed - 1 end as conflated,
                   g.consumed_at
            from (
                select o.*, p_partition_ids[o.ordinal] as partition_id,
                       p_group_ids[o.ordinal] as group_id, p_batch_ends[o.ordinal] as batch_end
                from unnest(v_ordinals, v_places, v_generations, v_epochs, v_committed,
                            v_expires_at, v_conflated)
                    o (ordinal, place, generation, epoch, committed, expires_at, conflated)) i
            left join lateral (
                select p.queue_id, p.last_offset, p.log_start
                from queen_store.partitions p
                where p.id = i.partition_id
                limit 1) p on true
            left join lateral (
                select q.id, q.deleted_at
                from queen_store.queues q
                where q.id = p.queue_id
                limit 1) q on true
            left join lateral (
                select g.generation, g.consumed_at
                from queen_store.groups g
                where g.id = i.group_id
                limit 1) g on true
        ),
        -- By place: what is locked stays there, and the look-up cannot become a scan.
        written as (
            update queen_store.cursors c
            set epoch = h.epoch, committed = h.batch_end, prev_committed = c.committed,
                prev_end = h.batch_end, prev_lease = c.lease_id, batch_end = null,
                lease_id = null, lease_expires_at = null, retry_count = 0, attempt_offset = null,
                attempt_count = 0
            from held h
            where h.verdict = 'released' and c.ctid = h.place
        )
        select h.ordinal, h.verdict, h.last_offset,
               case when h.verdict = 'released' then h.conflated end,
               case when h.verdict = 'released' then greatest(h.passed, 0) end,
               case when h.verdict = 'released' then h.ended end
        from held h
        cross join queen_store.mark_consumed(array(
            select distinct h.group_id
            from held h
            where h.verdict = 'released' and h.consumed_at is null)) m
        order by h.ordinal;
    end if;

    if cardinality(v_ordinals) is distinct from cardinality(p_partition_ids) then
        return query
        select i.ordinal::integer,
               case when q.id is null or q.deleted_at is not null
                      or c.generation is distinct from g.generation then 'lost'
                    when c.prev_lease = i.lease_id and c.prev_end >= i.batch_end then 'noop'
                    when c.lease_id = i.lease_id and c.batch_end = i.batch_end
                     and c.lease_expires_at > v_now then 'busy'
                    else 'lost' end,
               p.last_offset, null::bigint, null::bigint, null::bigint
        from unnest(p_partition_ids, p_group_ids, p_lease_ids, p_batch_ends)
            with ordinality i (partition_id, group_id, lease_id, batch_end, ordinal)
        left join lateral (
            select c.generation, c.lease_id, c.prev_lease, c.prev_end, c.batch_end,
                   c.lease_expires_at
            from queen_store.cursors c
            where c.partition_id = i.partition_id and c.group_id = i.group_id
            limit 1) c on true
        left join lateral (
            select p.queue_id, p.last_offset
            from queen_store.partitions p
            where p.id = i.partition_id
            limit 1) p on true
        left join lateral (
            select q.id, q.deleted_at
            from queen_store.queues q
            where q.id = p.queue_id
            limit 1) q on true
        left join lateral (
            select g.generation
            from queen_store.groups g
            where g.id = i.group_id
            limit 1) g on true
        where v_ordinals is null or i.ordinal <> all (v_ordinals)
        order by i.ordinal;
    end if;
end
$$;
comment on function queen_store.ack_batches(bigint[], integer[], uuid[], bigint[]) is
    'Commits whole leased batches of many callers; never waits. Locks: cursors, skip locked: only those that still hold that lease and batch; groups at a group''s first ack ever, skip locked.';

-- queen_store.find_offsets: lowest offset at which each key occurs in the ranges of its unit.
-- Called by  ack_messages, ack_bundle, fire_timers
-- Locks      none
-- Returns    one element per key, null = not found; from and to are inclusive, since null = any age
-- Cost       1 statement: one index range per range, 16 bytes per message in it, one hash join
create or replace function queen_store.find_offsets(
    p_range_units integer[], p_partition_ids bigint[], p_epochs integer[], p_from bigint[],
    p_to bigint[], p_since timestamptz[], p_units integer[], p_keys bytea[])
returns bigint[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
-- Said again, because a caller that wants primary keys only turns it off for itself.
set enable_hashjoin = on
set enable_nestloop = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
begin
    return (
        select array_agg(f."offset" order by f.item)
        from (
            select i.item, min(k."offset") as "offset"
            from unnest(p_units, p_keys) with ordinality i (unit, key, item)
            left join (
                select r.unit, o."offset",
                       substring(
                           s.keys from ((o."offset" - s.base_offset) * 16 + 1)::integer for 16)
                           as key
                from unnest(p_range_units, p_partition_ids, p_epochs, p_from, p_to, p_since)
                    r (unit, partition_id, epoch, from_offset, to_offset, since)
                cross join lateral (
                    -- The concatenation reads keys stored out of line once, not per message.
                    select s.base_offset, s.end_offset, s.keys || ''::bytea as keys
                    from queen_store.segments s
                    where s.partition_id = r.partition_id and s.epoch >= r.epoch
                      and s.base_offset >= coalesce((
                          select h.base_offset
                          from queen_store.segments h
                          where h.partition_id = r.partition_id and h.epoch >= r.epoch
                            and h.base_offset <= r.from_offset
                          order by h.base_offset desc
                          limit 1), 0)
                      and s.base_offset <= r.to_offset
                      and (r.since is null or s.created_at >= r.since)
                    offset 0) s
                cross join lateral generate_series(
                    greatest(s.base_offset, r.from_offset),
                    least(s.end_offset, r.to_offset)) o ("offset")
                offset 0) k on i.unit = k.unit and i.key = k.key
            group by i.item) f);
end
$$;
comment on function queen_store.find_offsets(
    integer[], bigint[], integer[], bigint[], bigint[], timestamptz[], integer[], bytea[]) is
    'Lowest offset of each key within ranges of lanes. Locks: none.';

-- queen_store.ack_messages: acknowledges single messages by key. A unit is one (lane, group, lease)
-- of one request, an item one acknowledgement in it. Per unit: the lowest failed, retry or dlq item
-- is the signal; the cursor moves to the highest completed item below it; the signal then ends the
-- lease, is charged to the retry budget, or is given up and filed as a dead letter in this commit.
-- Of a conflated batch only the last message was delivered, so only that can be acknowledged.
-- Called by  AckProcedures, ack_bundle, queen.ack
-- Locks      cursors ascending (partition_id, group_id), waits with p_wait, else skip locked;
--            groups at a group's first ack ever, skip locked
-- Returns    one row per item: done, noop (done before), stale (a failure of what is committed),
--            unresolvable (not in the batch nor in the window), no_leased_batch (a failure without
--            a batch it could end), invalid_lease (the lease acknowledged last did not acknowledge
--            it: it gave it back, or never had it), or for all items of a unit consumer_not_found,
--            invalid_lease, not_owned, busy; conflated = messages a completed batch retired unread,
--            null when it was not conflated, and of all but the item that completed it. The first
--            item of a unit says what changed: messages that the cursor passed, whose lease is
--            over, dead letters
-- Cost       6 statements for any number of units (again for units that share a cursor); reads the
--            keys of the leased batches, and of at most 100,000 messages on either side of a cursor
--            for ids that are not in them
create or replace function queen_store.ack_messages(
    p_tenant_ids uuid[], p_partition_ids bigint[], p_group_names text[], p_lease_ids uuid[],
    p_units integer[], p_keys bytea[], p_statuses smallint[], p_errors text[], p_wait boolean)
returns table (
    item integer, unit integer, verdict text, lease_released boolean, dead_lettered boolean,
    partition_id bigint, group_id integer, queue_id integer, committed bigint, last_offset bigint,
    conflated bigint, passed bigint, ended bigint, filed bigint)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
-- Said again, because a caller that wants primary keys only turns it off for itself.
set enable_hashjoin = on
set enable_nestloop = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_window_messages constant bigint := 100000;
    v_now timestamptz;
    v_open_epoch integer;
    -- Per unit.
    v_group_ids integer[];
    v_queue_ids integer[];
    v_refusals text[];
    v_turns integer[];
    v_leaders integer[];
    v_states text[];
    -- Leaders (the first unit of each cursor) whose cursor is locked.
    v_locked integer[];
    -- Per item: where its key is; null = not found.
    v_offsets bigint[];
    -- Ranges to search.
    v_range_units integer[];
    v_range_partition_ids bigint[];
    v_range_epochs integer[];
    v_range_from bigint[];
    v_range_to bigint[];
    v_range_since timestamptz[];
begin
    select array_agg(u.group_id order by u.unit), array_agg(u.queue_id order by u.unit),
           array_agg(u.refusal order by u.unit), array_agg(u.turn order by u.unit),
           array_agg(u.leader order by u.unit)
    into v_group_ids, v_queue_ids, v_refusals, v_turns, v_leaders
    from (
        select i.unit::integer, p.queue_id, g.id as group_id,
               -- What was in a deleted queue is like what never was.
               case when q.tenant_id is distinct from i.tenant_id or q.deleted_at is not null
                    then 'not_owned'
                    when g.id is null then 'consumer_not_found' end as refusal,
               (row_number() over same_cursor)::integer as turn,
               (min(i.unit) over same_cursor)::integer as leader
        from unnest(p_tenant_ids, p_partition_ids, p_group_names)
            with ordinality i (tenant_id, partition_id, group_name, unit)
        left join lateral (
            select p.queue_id
            from queen_store.partitions p
            where p.id = i.partition_id
            limit 1) p on true
        left join lateral (
            select q.tenant_id, q.deleted_at
            from queen_store.queues q
            where q.id = p.queue_id
            limit 1) q on true
        left join lateral (
            select g.id
            from queen_store.groups g
            where g.queue_id = p.queue_id and g.name = i.group_name
            limit 1) g on true
        window same_cursor as (partition by i.partition_id, g.id order by i.unit)) u;

    -- A nested loop over a sorted list: the locks come in the order of the list.
    if p_wait then
        select array_agg(i.unit::integer) into v_locked
        from (
            select u.unit, p_partition_ids[u.unit] as partition_id, u.group_id
            from unnest(v_group_ids, v_refusals, v_turns)
                with ordinality u (group_id, refusal, turn, unit)
            where u.refusal is null and u.turn = 1
            order by 2, 3) i
        cross join lateral (
            select c.partition_id
            from queen_store.cursors c
            where c.partition_id = i.partition_id and c.group_id = i.group_id
            for no key update) c;
    else
        select array_agg(i.unit::integer) into v_locked
        from (
            select u.unit, p_partition_ids[u.unit] as partition_id, u.group_id
            from unnest(v_group_ids, v_refusals, v_turns)
                with ordinality u (group_id, refusal, turn, unit)
            where u.refusal is null and u.turn = 1
            order by 2, 3) i
        cross join lateral (
            select c.partition_id
            from queen_store.cursors c
            where c.partition_id = i.partition_id and c.group_id = i.group_id
            for no key update skip locked) c;
    end if;

    v_now := clock_timestamp();
    -- With an older snapshot it may be sealed by now, and be emptied before the cursor is seen.
    select e.epoch into v_open_epoch
    from queen_store.epochs e
    where e.state = 'open' and current_setting('transaction_isolation') = 'read committed';

    for v_turn in 1 .. coalesce((select max(t) from unnest(v_turns) t), 0) loop
        -- What each unit may do, and where its keys are to be sought first: in the leased batch, or
        -- ahead of the cursor if there is none. An ack with the lease acknowledged last repeats
        -- itself and has no effect; of what that lease gave back it is the ack of an ended lease.
        select array_agg(u.state order by u.unit),
               array_agg(u.unit::integer) filter (where u.to_offset is not null),
               array_agg(u.partition_id) filter (where u.to_offset is not null),
               array_agg(u.epoch) filter (where u.to_offset is not null),
               array_agg(u.from_offset) filter (where u.to_offset is not null),
               array_agg(u.to_offset) filter (where u.to_offset is not null),
               array_agg(u.since) filter (where u.to_offset is not null)
        into v_states, v_range_units, v_range_partition_ids, v_range_epochs, v_range_from,
             v_range_to, v_range_since
        from (
            select s.unit, s.partition_id, s.state, s.epoch,
                   case when s.lease_conflated and s.batch_end is not null then s.batch_end
                        else s.committed + 1 end as from_offset,
                   case when s.state <> 'act' then null
                        when s.batch_end is not null then s.batch_end
                        else least(s.last_offset, s.committed + v_window_messages) end as to_offset,
                   case when s.batch_end is null
                        then v_now - make_interval(secs => s.window_seconds) end as since
            from (
                select i.unit, i.partition_id, c.committed, c.epoch, c.batch_end,
                       c.lease_conflated, p.last_offset,
                       greatest(q.dedup_window_seconds, q.completed_retention_seconds, 900)
                           as window_seconds,
                       case when i.turn <> v_turn then null
                            when i.refusal is not null then i.refusal
                            when q.deleted_at is not null then 'not_owned'
                            when c.generation is null then 'consumer_not_found'
                            -- A seek or delete of the group ended every lease of before.
                            when c.generation <> g.generation then
                                case when i.lease_id is null then 'consumer_not_found'
                                     else 'invalid_lease' end
                            when i.leader <> all (coalesce(v_locked, '{}')) then 'busy'
                            when c.prev_lease = i.lease_id then 'repeat'
                            when i.lease_id is null
                              or (c.lease_id = i.lease_id and c.lease_expires_at > v_now) then 'act'
                            else 'invalid_lease' end as state
                from unnest(p_partition_ids, v_group_ids, v_queue_ids, p_lease_ids, v_refusals,
                            v_turns, v_leaders)
                    with ordinality i (
                        partition_id, group_id, queue_id, lease_id, refusal, turn, leader, unit)
                left join lateral (
                    select p.last_offset
                    from queen_store.partitions p
                    where p.id = i.partition_id
                    limit 1) p on true
                left join lateral (
                    select q.deleted_at, q.dedup_window_seconds, q.completed_retention_seconds
                    from queen_store.queues q
                    where q.id = i.queue_id
                    limit 1) q on true
                left join lateral (
                    select g.generation
                    from queen_store.groups g
                    where g.id = i.group_id
                    limit 1) g on true
                left join lateral (
                    select c.generation, c.committed, c.epoch, c.batch_end, c.lease_id,
                           c.prev_lease, c.lease_expires_at, c.lease_conflated
                    from queen_store.cursors c
                    where c.partition_id = i.partition_id and c.group_id = i.group_id
                    limit 1) c on true) s) u;

        v_offsets := queen_store.find_offsets(
            v_range_units, v_range_partition_ids, v_range_epochs, v_range_from, v_range_to,
            v_range_since, p_units, p_keys);

        -- What is not there is sought behind the cursor: in the batch acknowledged last, then in a
        -- window of time and messages. Found there it is a repetition, never an effect.
        select array_agg(b.unit), array_agg(b.partition_id), array_agg(0), array_agg(b.from_offset),
               array_agg(b.to_offset), array_agg(b.since)
        into v_range_units, v_range_partition_ids, v_range_epochs, v_range_from, v_range_to,
             v_range_since
        from (
            select distinct i.unit
            from unnest(p_units, p_statuses, v_offsets) i (unit, status, "offset")
            where i."offset" is null
              and v_states[i.unit] in ('act', 'repeat')) u
        cross join lateral (
            select c.committed, c.prev_committed
            from queen_store.cursors c
            where c.partition_id = p_partition_ids[u.unit] and c.group_id = v_group_ids[u.unit]
            limit 1) c
        cross join lateral (
            select q.dedup_window_seconds, q.completed_retention_seconds
            from queen_store.queues q
            where q.id = v_queue_ids[u.unit]
            limit 1) q
        cross join lateral (
            values (u.unit, p_partition_ids[u.unit], c.prev_committed + 1, c.committed,
                    null::timestamptz),
                   (u.unit, p_partition_ids[u.unit],
                    greatest(c.committed - v_window_messages + 1, 0), c.committed,
                    v_now - make_interval(secs => greatest(
                        q.dedup_window_seconds, q.completed_retention_seconds, 900))))
            b (unit, partition_id, from_offset, to_offset, since)
        where b.from_offset <= b.to_offset;
        if v_range_units is not null then
            v_offsets := array(
                select coalesce(i.ahead, i.behind)
                from unnest(v_offsets, queen_store.find_offsets(
                    v_range_units, v_range_partition_ids, v_range_epochs, v_range_from,
                    v_range_to, v_range_since, p_units, p_keys))
                    with ordinality i (ahead, behind, item)
                order by i.item);
        end if;

        return query
        with unit as materialized (
            select u.unit, u.state, p_partition_ids[u.unit] as partition_id,
                   v_group_ids[u.unit] as group_id, v_queue_ids[u.unit] as queue_id,
                   c.generation, c.committed, c.batch_end, c.epoch, c.retry_count,
                   c.lease_conflated, c.prev_end, c.attempt_offset, c.attempt_count,
                   p.last_offset, p.log_start, q.retry_limit,
                   q.dead_letter_queue or q.dlq_after_max_retries as files,
                   g.consumed_at
            from unnest(v_states) with ordinality u (state, unit)
            left join lateral (
                select p.last_offset, p.log_start
                from queen_store.partitions p
                where p.id = p_partition_ids[u.unit]
                limit 1) p on true
            left join lateral (
                select q.retry_limit, q.dead_letter_queue, q.dlq_after_max_retries
                from queen_store.queues q
                where q.id = v_queue_ids[u.unit]
                limit 1) q on true
            left join lateral (
                select g.consumed_at
                from queen_store.groups g
                where g.id = v_group_ids[u.unit]
                limit 1) g on true
            left join lateral (
                select c.generation, c.committed, c.batch_end, c.epoch, c.retry_count,
                       c.lease_conflated, c.prev_end, c.attempt_offset, c.attempt_count
                from queen_store.cursors c
                where c.partition_id = p_partition_ids[u.unit] and c.group_id = v_group_ids[u.unit]
                limit 1) c on true
            where u.state is not null
        ),
        item as materialized (
            select i.item, i.unit, i.key, i.status, nullif(i.error, '') as error, i."offset",
                   case when u.state = 'act' then i."offset" > u.committed end as ahead,
                   -- At the same offset dlq beats failed beats retry.
                   case i.status when 3 then 3 when 1 then 2 when 2 then 1 end as weight
            from unnest(p_units, p_keys, p_statuses, p_errors, v_offsets)
                with ordinality i (unit, key, status, error, "offset", item)
            join unit u on u.unit = i.unit
        ),
        signal as (
            select i.unit, min(i."offset") as "offset"
            from item i
            where i.ahead and i.status <> 0
            group by i.unit
        ),
        tally as (
            select i.unit, min(i.item) as first_item,
                   min(i.item) filter (where i.ahead and i.status = 0) as first_completed,
                   s."offset" as signal_offset,
                   max(i.weight) filter (where i."offset" = s."offset") as weight,
                   max(i."offset") filter (
                       where i.ahead and i.status = 0
                         and (s."offset" is null or i."offset" < s."offset")) as prefix,
                   coalesce(
                       (array_agg(i.error order by i.weight desc, i.item) filter (
                           where i."offset" = s."offset" and i.weight >= 2
                             and i.error is not null))[1],
                       (array_agg(i.error order by i.item) filter (where i.error is not null))[1],
                       'Retries exhausted') as reason,
                   (array_agg(i.key) filter (where i."offset" = s."offset"))[1] as signal_key
            from item i
            left join signal s on s.unit = i.unit
            group by i.unit, s."offset"
        ),
        decision as materialized (
            select u.*, t.first_item, t.first_completed, t.signal_offset, t.weight, t.reason,
                   t.signal_key, a.action, e.new_committed,
                   -- A unit that may not act ends nobody's lease.
                   a.action <> 'none' and u.batch_end is not null and (
                       a.action <> 'commit' or e.new_committed >= u.batch_end) as released,
                   a.action in ('file', 'drop')
                       or (a.action = 'commit' and e.new_committed >= u.batch_end) as resets,
                   a.action in ('commit', 'charge', 'retry')
                       and coalesce(e.new_committed < u.batch_end, false) as leaves,
                   case when e.new_committed > u.committed and u.epoch <> v_open_epoch and (
                            select s.epoch
                            from queen_store.segments s
                            where s.partition_id = u.partition_id and s.epoch >= u.epoch
                              and s.base_offset <= e.new_committed
                            order by s.base_offset desc
                            limit 1) = v_open_epoch then v_open_epoch
                        else u.epoch end as new_epoch
            from unit u
            left join tally t on t.unit = u.unit
            cross join lateral (
                select case
                    when u.state <> 'act' then 'none'
                    when t.weight is null or u.batch_end is null then 'commit'
                    when t.weight = 1 then 'retry'
                    when t.weight = 3 then 'file'
                    when u.retry_count < u.retry_limit then 'charge'
                    when u.files then 'file'
                    else 'drop' end as action) a
            cross join lateral (
                select case
                    when a.action in ('file', 'drop') then t.signal_offset
                    else coalesce(t.prefix, u.committed) end as new_committed) e
        ),
        written as (
            insert into queen_store.cursors as c (
                partition_id, group_id, generation, epoch, committed, batch_end, retry_count,
                attempt_offset, attempt_count)
            select d.partition_id, d.group_id, d.generation, d.new_epoch, d.new_committed,
                   case when not d.released then d.batch_end end,
                   case when d.resets then 0
                        when d.action = 'charge' then d.retry_count + 1
                        else d.retry_count end,
                   -- What is left of a batch was delivered as often as its beginning.
                   case when d.resets then null
                        when d.new_committed < d.attempt_offset then d.attempt_offset
                        when d.leaves then d.new_committed + 1 end,
                   case when d.resets then 0
                        when d.new_committed < d.attempt_offset or d.leaves then d.attempt_count
                        else 0 end
            from decision d
            where d.released or d.new_committed > d.committed
            on conflict (partition_id, group_id) do update
            set epoch = excluded.epoch, committed = excluded.committed,
                retry_count = excluded.retry_count, batch_end = excluded.batch_end,
                prev_committed = case when c.batch_end is not null and excluded.batch_end is null
                                      then c.committed else c.prev_committed end,
                prev_end = case when c.batch_end is not null and excluded.batch_end is null
                                then excluded.committed else c.prev_end end,
                prev_lease = case when c.batch_end is not null and excluded.batch_end is null
                                  then c.lease_id else c.prev_lease end,
                lease_id = case when excluded.batch_end is not null then c.lease_id end,
                lease_expires_at = case when excluded.batch_end is not null
                                        then c.lease_expires_at end,
                attempt_offset = excluded.attempt_offset, attempt_count = excluded.attempt_count
        ),
        filed as (
            insert into queen_store.dead_letters (
                queue_id, partition_id, group_name, "offset", message_id, transaction_id, key,
                payload, flags, trace_id, producer, created_at, error, retry_count, failed_at)
            select d.queue_id, d.partition_id, p_group_names[d.unit], d.signal_offset,
                   -- Of a message whose payload has expired only the key may be left.
                   coalesce(m.message_id, queen_store.message_id(
                       coalesce(m.created_at, v_now), d.partition_id, d.signal_offset)),
                   coalesce(m.transaction_id, encode(d.signal_key, 'hex')), d.signal_key, m.payload,
                   coalesce(m.flags, 0::smallint), m.trace_id, m.producer, m.created_at, d.reason,
                   d.retry_count, v_now
            from decision d
            left join lateral queen_store.message_at(d.partition_id, d.signal_offset) m on true
            where d.action = 'file'
        )
        select i.item::integer, d.unit::integer, o.verdict,
               o.verdict = 'done' and d.released,
               d.action = 'file' and i."offset" = d.signal_offset and i.weight = d.weight
                   and i.ahead,
               d.partition_id, d.group_id, d.queue_id, d.new_committed, d.last_offset,
               -- An id may be acknowledged more than once: it retires them once.
               case when i.item = d.first_completed and d.released and d.action = 'commit'
                     and d.lease_conflated then d.batch_end - d.committed - 1 end,
               case when i.item = d.first_item then greatest(d.new_committed, d.log_start - 1)
                   - greatest(d.committed, d.log_start - 1) end,
               case when i.item = d.first_item then d.batch_end - case
                   when d.released then d.committed
                   else d.batch_end - d.new_committed + d.committed end end,
               case when i.item = d.first_item and d.action = 'file' then 1::bigint end
        from item i
        join decision d on d.unit = i.unit
        cross join lateral (
            select case
                when d.state = 'repeat' then case
                    when i."offset" is null or i."offset" > d.prev_end then 'invalid_lease'
                    when i.status = 0 then 'noop'
                    when exists (
                        select
                        from queen_store.dead_letters l
                        where l.partition_id = d.partition_id and l.key = i.key
                          and l."offset" = i."offset"
                          and l.group_name = p_group_names[d.unit]) then 'noop'
                    else 'stale' end
                when d.state <> 'act' then d.state
                when i."offset" is null then 'unresolvable'
                when not i.ahead then case when i.status = 0 then 'noop' else 'stale' end
                when i.status <> 0 and d.batch_end is null then 'no_leased_batch'
                else 'done' end as verdict
            offset 0) o
        cross join queen_store.mark_consumed(array(
            select distinct d.group_id
            from decision d
            where d.new_committed > d.committed and d.consumed_at is null)) m
        order by i.item;
    end loop;
end
$$;
comment on function queen_store.ack_messages(
    uuid[], bigint[], text[], uuid[], integer[], bytea[], smallint[], text[], boolean) is
    'Acknowledges messages by key: partial batches, failures, retries, dead letters, acks without a lease. Locks: cursors ascending (partition_id, group_id), waits with p_wait, else skip locked; groups at a group''s first ack ever, skip locked.';

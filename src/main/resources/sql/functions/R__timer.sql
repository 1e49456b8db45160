-- Timers: scheduling and cancelling, and their way into the log: claimed by a broker for some
-- seconds, then stored and deleted in one commit. Whoever wants a timer that a broker has claimed
-- is told that it is too late; whoever fires never waits for a timer.

-- queen_store.change_timers: schedules and cancels timers of one tenant, all of them or none.
-- Scheduling one that is there replaces it. What is cancelled must be there when the call begins:
-- one that somebody makes meanwhile comes after it. A timer that is claimed is not locked, or its
-- message would have to wait for whoever came too late.
-- Called by  TimerProcedures, transact, queen.timer_apply
-- Locks      timers, ascending (queue, timer_key), those that are there and those that are made
--            in one statement; waits up to p_wait_ms each
-- Returns    one row per input, in any order: scheduled, rescheduled, cancelled, absent, or
--            too_late (a broker has claimed it and is about to fire it; nothing is changed); with
--            the transactionId of what was cancelled, and the time of what was scheduled
-- Raises     QN400 bad_request (a timer twice)
-- Cost       3 statements; 1 more where something is cancelled
create or replace function queen_store.change_timers(
    p_tenant_id uuid, p_queues text[], p_timer_keys text[], p_cancels boolean[],
    -- Of those to schedule: from now, or else the time itself. What has passed means at once.
    p_delays_us bigint[], p_deliver_ats timestamptz[],
    p_partitions text[], p_transaction_ids text[], p_message_ids uuid[], p_payloads bytea[],
    p_encrypted boolean[], p_dedup boolean[], p_producer text,
    -- Null = as long as the lock_timeout of the caller says.
    p_wait_ms integer default null)
returns table (
    ordinal integer, status text, transaction_id text, deliver_at timestamptz)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_twice text;
    -- Ordinals of those that are claimed, and of those to cancel that are there and are not.
    v_claimed bigint[];
    v_found bigint[];
begin
    if p_wait_ms is not null then
        -- Until the end of the transaction, which is the call.
        perform set_config('lock_timeout', p_wait_ms::text, true);
    end if;
    select format('timer %s of queue %s', i.timer_key, i.queue) into v_twice
    from unnest(p_queues, p_timer_keys) as i (queue, timer_key)
    group by i.queue, i.timer_key
    having count(*) > 1
    limit 1;
    if v_twice is not null then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = v_twice || ' occurs twice: a call may change it once';
    end if;

    select array_agg(f.ordinal) filter (where f.claimed),
           array_agg(f.ordinal) filter (where f.cancel and not f.claimed)
    into v_claimed, v_found
    from (
        select i.ordinal, i.cancel,
               t.claim_token is not null and t.held_until > v_now as claimed
        from unnest(p_queues, p_timer_keys, p_cancels) with ordinality
            as i (queue, timer_key, cancel, ordinal)
        cross join lateral (
            select t.claim_token, t.held_until
            from queen_store.timers t
            where t.tenant_id = p_tenant_id and t.queue = i.queue and t.timer_key = i.timer_key
            limit 1) t) f;

    return query
    with scheduled as (
        insert into queen_store.timers as t (
            tenant_id, queue, timer_key, partition, deliver_at, transaction_id, message_id,
            payload, encrypted, dedup, producer, attempts)
        select p_tenant_id, i.queue, i.timer_key, coalesce(i.partition, '-'),
               greatest(
                   v_now, coalesce(i.deliver_at, v_now + i.delay_us * interval '1 microsecond')),
               coalesce(i.transaction_id, '-'), coalesce(i.message_id, gen_random_uuid()),
               coalesce(i.payload, ''), coalesce(i.encrypted, false), coalesce(i.dedup, false),
               p_producer, case when i.cancel then -1 else 0 end
        from unnest(
                p_queues, p_timer_keys, p_cancels, p_delays_us, p_deliver_ats, p_partitions,
                p_transaction_ids, p_message_ids, p_payloads, p_encrypted, p_dedup)
            with ordinality as i (
                queue, timer_key, cancel, delay_us, deliver_at, partition, transaction_id,
                message_id, payload, encrypted, dedup, ordinal)
        -- Those to cancel are only locked on the way, so that all rows are locked in one order. One
        -- that somebody else has removed by then is made for the time being.
        where (i.ordinal = any (v_claimed)) is not true
          and (not i.cancel or i.ordinal = any (v_found))
        -- In this order they are inserted, and so locked.
        order by i.queue collate "C", i.timer_key collate "C"
        on conflict (tenant_id, queue, timer_key) do update
        set partition = excluded.partition,
            deliver_at = excluded.deliver_at,
            transaction_id = excluded.transaction_id,
            message_id = excluded.message_id,
            payload = excluded.payload,
            encrypted = excluded.encrypted,
            dedup = excluded.dedup,
            producer = excluded.producer,
            attempts = 0,
            last_error = null,
            claim_token = null,
            held_until = null,
            updated_at = clock_timestamp()
        where excluded.attempts = 0
          and (t.claim_token is null or t.held_until <= clock_timestamp())
        -- Zero: this statement made the row. One that it found it has locked first, and the new
        -- version of a row carries the lock on the old one.
        returning t.queue, t.timer_key, t.deliver_at, t.xmax = '0'::xid as created)
    select i.ordinal::integer,
           case when s.created then 'scheduled'
                when not s.created then 'rescheduled'
                else 'too_late' end,
           null::text, s.deliver_at
    from unnest(p_queues, p_timer_keys, p_cancels) with ordinality
        as i (queue, timer_key, cancel, ordinal)
    left join scheduled s on s.queue = i.queue and s.timer_key = i.timer_key
    where not i.cancel;

    if true = any (p_cancels) then
        v_now := clock_timestamp();
        return query
        with cancelled as (
            delete from queen_store.timers t
            using unnest(p_queues, p_timer_keys) with ordinality as i (queue, timer_key, ordinal)
            cross join lateral (
                select t.ctid
                from queen_store.timers t
                where t.tenant_id = p_tenant_id and t.queue = i.queue
                  and t.timer_key = i.timer_key
                limit 1) l
            -- By place: they are locked, so these are their newest versions.
            where i.ordinal = any (v_found) and t.ctid = l.ctid
              and (t.claim_token is null or t.held_until <= v_now)
            returning i.ordinal, t.transaction_id, t.attempts)
        select i.ordinal::integer,
               case when c.attempts >= 0 then 'cancelled'
                    when c.ordinal is null and i.ordinal = any (v_claimed || v_found)
                    then 'too_late'
                    else 'absent' end,
               case when c.attempts >= 0 then c.transaction_id end, null::timestamptz
        from unnest(p_cancels) with ordinality as i (cancel, ordinal)
        left join cancelled c on c.ordinal = i.ordinal
        where i.cancel;
    end if;
end
$$;

comment on function queen_store.change_timers(
    uuid, text[], text[], boolean[], bigint[], timestamptz[], text[], text[], uuid[], bytea[],
    boolean[], boolean[], text, integer) is
    'Schedules and cancels timers of one tenant, all of them or none. Locks: timers, ascending (queue, timer_key), those that are there and those that are made in one statement; waits up to p_wait_ms each.';

-- queen_store.probe_timers: what a broker must know to sleep until the next timer.
-- Called by  TimerProcedures
-- Locks      none
-- Returns    one row: the time, when the next timer can be claimed (null = there is none), how many
--            can be now (counted up to p_due_max), and since when the oldest of them
-- Raises     nothing
-- Cost       1 statement: 64 index probes, and the index entries of what is due up to p_due_max.
--            While an old snapshot is open anywhere, also those of timers that are gone, from
--            p_from on
create or replace function queen_store.probe_timers(
    p_due_max integer,
    -- Timers that could be claimed before are left out; null = none is.
    p_from timestamptz,
    -- Likewise those that cannot be for so long; null = none is.
    p_within_ms bigint)
returns table (
    read_at timestamptz, next_at timestamptz, due integer, oldest_due_at timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_from timestamptz := coalesce(p_from, '-infinity');
    v_until timestamptz := coalesce(v_now + p_within_ms * interval '1 millisecond', 'infinity');
begin
    return query
    select v_now, min(h.visible_at),
           case when min(h.visible_at) <= v_now then (
               select count(*)
               from (
                   select
                   from generate_series(0, 63) as s (shard)
                   cross join lateral (
                       select
                       from queen_store.timers t
                       where t.shard = s.shard::smallint
                         and t.visible_at >= v_from and t.visible_at <= v_now
                       order by t.visible_at
                       limit p_due_max) t
                   limit p_due_max) d)::integer else 0 end,
           case when min(h.visible_at) <= v_now then min(h.visible_at) end
    from generate_series(0, 63) as s (shard)
    cross join lateral (
        select t.visible_at
        from queen_store.timers t
        where t.shard = s.shard::smallint
          and t.visible_at >= v_from and t.visible_at <= v_until
        order by t.visible_at
        limit 1) h;
end
$$;

comment on function queen_store.probe_timers(integer, timestamptz, bigint) is
    'When the next timer is due, and how many are. Locks: none.';

-- queen_store.claim_timers: takes timers that are due, so that no other broker fires them
-- meanwhile: of every tenant in turn, of each of its queues in turn, the oldest first. A queue with
-- ever so many hides no other: what is due is seen in order of time, in each of 64 shards of queues
-- some, and where that does not show all of a shard, some of each of its queues too, up to 128, or
-- of as many chosen by chance. A claim that is not followed by anything ends by itself.
-- No timer passes an earlier one of its lane that was given back, because the lane was busy most
-- likely: it is put off until that can be claimed. One that failed for a reason of its own has lost
-- its place, and so nobody waits for it.
-- Called by  TimerProcedures
-- Locks      timers, skip locked
-- Returns    at most p_limit timers of at most p_bytes_max of payload, but one at least, with the
--            number of the claim, and whether their queue wants payloads encrypted; without such a
--            number and a payload what was put off
-- Raises     nothing
-- Cost       5 statements, 1 more where timers are put off: the head of the index in each shard and
--            up to 256 probes of that of queues, then primary keys, and 1 probe per lane. While an
--            old snapshot is open anywhere, also index entries of timers that are gone, from p_from
--            on
create or replace function queen_store.claim_timers(
    p_limit integer, p_bytes_max bigint, p_lease_ms integer,
    -- Timers that could be claimed before are left out; null = none is.
    p_from timestamptz,
    -- Most timers of one tenant, null = any number; and of some tenants another number.
    p_tenant_most integer, p_tenant_ids uuid[], p_tenant_lefts integer[])
returns table (
    tenant_id uuid, queue text, timer_key text, claim_token uuid, partition text,
    deliver_at timestamptz, transaction_id text, message_id uuid, payload bytea,
    encrypted boolean, dedup boolean, producer text, attempts integer, queue_encrypts boolean,
    claimed_at timestamptz)
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
    v_from timestamptz := coalesce(p_from, '-infinity');
    -- From the first to the last number of the range of a shard.
    v_span constant bigint := 288230376151711743;
    v_shards smallint[];
    v_head integer;
    v_tenant_ids uuid[];
    v_queues text[];
    v_timer_keys text[];
    -- Of those that are locked.
    v_tids tid[];
    v_sources bigint[];
    v_partitions text[];
    v_deliver_ats timestamptz[];
    -- Of those of them that must wait for an earlier one of their lane, and until when.
    v_put_off tid[];
    v_untils timestamptz[];
begin
    -- The order and the limit make it a probe for each shard, whatever the planner believes.
    select array_agg(s.shard::smallint) into v_shards
    from generate_series(0, 63) as s (shard)
    cross join lateral (
        select
        from queen_store.timers t
        where t.shard = s.shard::smallint and t.visible_at >= v_from and t.visible_at <= v_now
        order by t.visible_at
        limit 1) t;
    if v_shards is null then
        return;
    end if;
    v_head := greatest(8, least(p_limit, 4 * p_limit / cardinality(v_shards)));

    with recursive head as materialized (
        select s.shard, h.*
        from unnest(v_shards) as s (shard)
        cross join lateral (
            select t.tenant_id, t.queue, t.timer_key, t.source, t.visible_at, t.deliver_at,
                   octet_length(t.payload)::bigint as bytes
            from queen_store.timers t
            where t.shard = s.shard and t.visible_at >= v_from and t.visible_at <= v_now
            order by t.visible_at, t.deliver_at
            limit v_head) h),
    crowded as materialized (
        select h.shard::bigint << 58 as first,
               greatest(2, 64 / count(*) over ()) as steps
        from head h
        group by h.shard
        having count(*) = v_head),
    -- Queues of a shard, from the first on and from one on that chance chooses.
    walk as (
        select c.first + v_span as last, c.steps, n.source
        from crowded c
        cross join lateral (values (c.first), (c.first + (random() * v_span)::bigint))
            as b (source)
        cross join lateral (
            select t.source
            from queen_store.timers t
            where t.source >= b.source and t.source <= c.first + v_span
              and t.visible_at >= v_from
            order by t.source
            limit 1) n
        union all
        select w.last, w.steps - 1, n.source
        from walk w
        cross join lateral (
            select t.source
            from queen_store.timers t
            where t.source > w.source and t.source <= w.last and t.visible_at >= v_from
            order by t.source
            limit 1) n
        where w.steps > 1),
    due as (
        select h.tenant_id, h.queue, h.timer_key, h.source, h.visible_at, h.deliver_at, h.bytes
        from head h
        union
        select d.*
        from (select distinct w.source from walk w) s
        cross join lateral (
            select t.tenant_id, t.queue, t.timer_key, t.source, t.visible_at, t.deliver_at,
                   octet_length(t.payload)::bigint as bytes
            from queen_store.timers t
            where t.source = s.source and t.visible_at >= v_from and t.visible_at <= v_now
            order by t.visible_at, t.deliver_at
            limit greatest(1, p_limit / 16)) d)
    select array_agg(c.tenant_id), array_agg(c.queue), array_agg(c.timer_key)
    into v_tenant_ids, v_queues, v_timer_keys
    from (
        select r.tenant_id, r.queue, r.timer_key,
               sum(r.bytes) over w as bytes_so_far, row_number() over w as place
        from (
            select q.*,
                   row_number() over (
                       partition by q.tenant_id
                       order by q.turn_of_queue, q.visible_at, q.deliver_at, q.queue, q.timer_key)
                       as turn
            from (
                select d.*,
                       row_number() over (
                           partition by d.source
                           order by d.visible_at, d.deliver_at, d.timer_key) as turn_of_queue
                from due d) q) r
        left join unnest(p_tenant_ids, p_tenant_lefts) as l (tenant_id, most)
            on l.tenant_id = r.tenant_id
        where r.turn <= coalesce(l.most, p_tenant_most, p_limit)
        window w as (order by r.turn, r.visible_at, r.deliver_at, r.queue, r.timer_key)) c
    where c.place <= p_limit and (c.bytes_so_far <= p_bytes_max or c.place = 1);

    select array_agg(t.tid), array_agg(t.source), array_agg(t.partition), array_agg(t.deliver_at)
    into v_tids, v_sources, v_partitions, v_deliver_ats
    from unnest(v_tenant_ids, v_queues, v_timer_keys) as i (tenant_id, queue, timer_key)
    cross join lateral (
        select t.ctid as tid, t.source, t.partition, t.deliver_at
        from queen_store.timers t
        where t.tenant_id = i.tenant_id and t.queue = i.queue and t.timer_key = i.timer_key
          -- The time as a sum, or it might be looked up by time, past all that is gone.
          and t.visible_at + interval '0' <= v_now
        for update skip locked) t;

    -- Until the first of the lane can be claimed: then all of it can be, in its order. Whether
    -- somebody has it locked is not known, so it is looked at again: soon, but half as often each
    -- time, for an application may have it for as long as its transaction lasts.
    select array_agg(i.tid),
           array_agg(greatest(w.held_until, v_now + least(greatest(
               (v_now - w.held_until) / 2, interval '20 milliseconds'),
               interval '320 milliseconds')))
    into v_put_off, v_untils
    from (
        select distinct l.source, l.partition
        from unnest(v_sources, v_partitions) as l (source, partition)) l
    cross join lateral (
        select t.held_until, t.deliver_at
        from queen_store.timers t
        where t.source = l.source and t.partition = l.partition and t.held_until >= v_from
          and t.claim_token is null and t.attempts = 0 and t.ctid <> all (v_tids)
        order by t.deliver_at
        limit 1) w
    cross join unnest(v_tids, v_sources, v_partitions, v_deliver_ats)
        as i (tid, source, partition, deliver_at)
    where i.source = l.source and i.partition = l.partition and i.deliver_at > w.deliver_at;
    if v_put_off is not null then
        v_tids := array(select unnest(v_tids) except select unnest(v_put_off));
        return query
        update queen_store.timers t
        set claim_token = null,
            held_until = v_untils[array_position(v_put_off, t.ctid)]
        where t.ctid = any (v_put_off)
        returning t.tenant_id, t.queue, t.timer_key, t.claim_token, t.partition, t.deliver_at,
            t.transaction_id, t.message_id, null::bytea, t.encrypted, t.dedup, t.producer,
            t.attempts, false, v_now;
    end if;

    return query
    update queen_store.timers t
    set claim_token = gen_random_uuid(),
        held_until = v_now + p_lease_ms * interval '1 millisecond'
    where t.ctid = any (v_tids)
    returning t.tenant_id, t.queue, t.timer_key, t.claim_token, t.partition, t.deliver_at,
        t.transaction_id, t.message_id, t.payload, t.encrypted, t.dedup, t.producer, t.attempts,
        coalesce((
            select q.encryption_enabled
            from queen_store.queues q
            where q.tenant_id = t.tenant_id and q.name = t.queue and q.deleted_at is null), false),
        v_now;
end
$$;

comment on function queen_store.claim_timers(
    integer, bigint, integer, timestamptz, integer, uuid[], integer[]) is
    'Takes timers that are due, for a broker that is about to fire them. Locks: timers, skip locked.';

-- queen_store.fire_timers: turns claimed timers into messages: stored in their lanes and deleted
-- here, each lane whole or not at all.
-- Called by  TimerProcedures
-- Locks      timers, skip locked; advisory on the names of missing queues and lanes, tried only;
--            queues and partitions: new rows; partitions, ascending id; skips what is held, or
--            waits up to p_wait_ms each; epochs as append
-- Returns    one row per lane:
--            fired      its messages are stored, its timers gone
--            duplicate  with p_lane_dedup: timers whose transactionId the lane took within its
--                       dedup window are gone, "dropped" of them; the others can be claimed again
--            stale      not all of its timers are claimed by these numbers any more
--            locked     somebody holds one of its timers, which are all claimed by these numbers
--                       still, and stay so
--            busy       somebody holds the lane or is making it, or its queue was just deleted; its
--                       timers can be claimed again after p_busy_pause_ms, or stay claimed
--            unsealed   its queue wants payloads encrypted; its timers can be claimed again
-- Raises     QN400 bad_request (as append)
-- Cost       13 statements for any number of lanes up to 256; with p_lane_dedup also 16 bytes read
--            for each of the newest 100,000 messages that the lane took within its dedup window,
--            before the lane is locked
create or replace function queen_store.fire_timers(
    -- Timers, in the order of their messages; lane = place in the arrays of lanes, from 1.
    p_tenant_ids uuid[], p_queues text[], p_timer_keys text[], p_claim_tokens uuid[],
    p_lanes integer[],
    p_lane_tenant_ids uuid[], p_lane_queues text[], p_lane_partitions text[],
    p_lane_flush_ids bigint[],
    -- Whether the newest messages of the lane are searched for the transactionIds first.
    p_lane_dedup boolean[],
    -- Whether every payload is an envelope.
    p_lane_sealed boolean[],
    p_segment_lanes integer[], p_segment_counts integer[], p_keys bytea[], p_frames bytea[],
    -- null = the timers of busy lanes stay claimed.
    p_busy_pause_ms integer,
    -- null = what is held is skipped.
    p_wait_ms integer)
returns table (
    lane integer, verdict text, queue_id integer, partition_id bigint, last_offset bigint,
    dropped integer)
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
    v_lane_count constant integer := cardinality(p_lane_queues);
    v_offset_max constant bigint := 274877906943;
    v_searched_messages constant bigint := 100000;
    -- Per timer.
    v_held boolean[];
    v_tids tid[];
    v_timer_keys bytea[];
    v_originals bigint[];
    v_gone boolean[];
    -- Per lane.
    v_verdicts text[];
    v_queue_ids integer[];
    v_partition_ids bigint[];
    v_lasts bigint[];
    v_since timestamptz[];
    -- Places of the lanes that are appended to, and what goes there.
    v_live integer[];
    v_live_ids bigint[];
    v_flush_ids bigint[];
    v_vouched_from bigint[];
    v_vouched_to bigint[];
    v_segment_lanes integer[] := p_segment_lanes;
    v_segment_counts integer[] := p_segment_counts;
    v_keys bytea[] := p_keys;
    v_frames bytea[] := p_frames;
    -- Timers that can be claimed again, and those of them that wait first.
    v_back tid[];
    v_paused tid[];
    v_until timestamptz;
    -- Of a row.
    v_lane integer;
    v_window integer;
    v_unsealed boolean;
    v_timer integer;
    v_positions integer[];
begin
    select array_agg(l.held order by l.ordinal), array_agg(l.tid order by l.ordinal),
           array_agg(l.key order by l.ordinal)
    into v_held, v_tids, v_timer_keys
    from (
        select i.ordinal, t.tid is not null as held, t.tid,
               case when p_lane_dedup[i.lane] then t.key end as key
        from unnest(p_tenant_ids, p_queues, p_timer_keys, p_claim_tokens, p_lanes)
            with ordinality as i (tenant_id, queue, timer_key, claim_token, lane, ordinal)
        left join lateral (
            select t.ctid as tid, queen_store.key_of(t.transaction_id) as key
            from queen_store.timers t
            where t.tenant_id = i.tenant_id and t.queue = i.queue
              and t.timer_key = i.timer_key and t.claim_token = i.claim_token
            for update skip locked) t on true) l;
    select array_agg(l.verdict order by l.lane),
           array_agg(l.lane order by l.lane) filter (where l.verdict is null)
    into v_verdicts, v_live
    from (
        select i.lane,
               case when bool_and(i.held) then null
                    -- A statement of its own: it sees what was changed while the locks were taken.
                    when bool_and(i.held or exists (
                        select
                        from queen_store.timers t
                        where t.tenant_id = i.tenant_id and t.queue = i.queue
                          and t.timer_key = i.timer_key and t.claim_token = i.claim_token))
                    then 'locked'
                    else 'stale' end as verdict
        from unnest(p_tenant_ids, p_queues, p_timer_keys, p_claim_tokens, p_lanes, v_held)
            as i (tenant_id, queue, timer_key, claim_token, lane, held)
        group by i.lane) l;

    v_gone := array_fill(false, array[cardinality(p_lanes)]);
    v_queue_ids := array_fill(null::integer, array[v_lane_count]);
    v_partition_ids := array_fill(null::bigint, array[v_lane_count]);
    v_lasts := array_fill(null::bigint, array[v_lane_count]);

    if v_live is not null then
        for lane, verdict, queue_id, partition_id, last_offset in
            select v_live[e.ordinal], e.verdict, e.queue_id, e.partition_id, e.last_offset
            from queen_store.ensure_lanes(
                array(select p_lane_tenant_ids[l.lane]
                      from unnest(v_live) with ordinality as l (lane, place) order by l.place),
                array(select p_lane_queues[l.lane]
                      from unnest(v_live) with ordinality as l (lane, place) order by l.place),
                array(select p_lane_partitions[l.lane]
                      from unnest(v_live) with ordinality as l (lane, place) order by l.place)) e
        loop
            v_verdicts[lane] := nullif(verdict, 'ready');
            v_queue_ids[lane] := queue_id;
            v_partition_ids[lane] := partition_id;
            v_lasts[lane] := last_offset;
        end loop;

        v_since := array_fill(null::timestamptz, array[v_lane_count]);
        for lane, v_window, v_unsealed in
            select l.lane,
                   case when p_lane_dedup[l.lane] then nullif(q.dedup_window_seconds, 0) end,
                   q.encryption_enabled and not p_lane_sealed[l.lane]
            from unnest(v_live) as l (lane)
            join queen_store.queues q on q.id = v_queue_ids[l.lane]
            where q.encryption_enabled or p_lane_dedup[l.lane]
        loop
            if v_unsealed then
                v_verdicts[lane] := coalesce(v_verdicts[lane], 'unsealed');
            else
                v_since[lane] := clock_timestamp() - make_interval(secs => v_window);
            end if;
        end loop;
        if cardinality(array_remove(v_since, null)) > 0 then
            -- What the log holds by now does not change: it is searched before the lane is locked,
            -- and append looks at what comes after.
            v_originals := queen_store.find_offsets(
                r.lanes, r.partition_ids, r.epochs, r.from_offsets, r.to_offsets, r.since, p_lanes,
                v_timer_keys)
            from (
                select array_agg(l.lane::integer) as lanes,
                       array_agg(l.partition_id) as partition_ids, array_agg(0) as epochs,
                       array_agg(greatest(0, l.last - v_searched_messages + 1)) as from_offsets,
                       array_agg(l.last) as to_offsets, array_agg(l.since) as since
                from unnest(v_partition_ids, v_lasts, v_since) with ordinality
                    as l (partition_id, last, since, lane)
                where l.since is not null) r;
            for v_timer in
                select o.ordinal
                from unnest(v_originals) with ordinality as o ("offset", ordinal)
                where o."offset" is not null
            loop
                v_gone[v_timer] := true;
                v_verdicts[p_lanes[v_timer]] := 'duplicate';
            end loop;
        end if;
        select array_agg(l.lane order by l.lane) into v_live
        from unnest(v_verdicts) with ordinality as l (verdict, lane)
        where l.verdict is null;
    end if;

    if v_live is not null then
        if cardinality(v_live) < v_lane_count then
            select array_agg(array_position(v_live, s.lane) order by s.ordinal),
                   array_agg(s.messages order by s.ordinal),
                   array_agg(s.keys order by s.ordinal), array_agg(s.frames order by s.ordinal)
            into v_segment_lanes, v_segment_counts, v_keys, v_frames
            from unnest(p_segment_lanes, p_segment_counts, p_keys, p_frames)
                with ordinality as s (lane, messages, keys, frames, ordinal)
            where v_verdicts[s.lane] is null;
        end if;
        select array_agg(v_partition_ids[l.lane] order by l.place),
               array_agg(p_lane_flush_ids[l.lane] order by l.place),
               array_agg(-1::bigint),
               -- Without dedup a timer is delivered whatever the lane holds: for all of it.
               array_agg(case when p_lane_dedup[l.lane] then v_lasts[l.lane]
                              else v_offset_max end order by l.place)
        into v_live_ids, v_flush_ids, v_vouched_from, v_vouched_to
        from unnest(v_live) with ordinality as l (lane, place);
        for lane, verdict, last_offset, v_positions in
            select v_live[a.ordinal], a.verdict, a.last_offset, a.duplicate_positions
            from queen_store.append(
                v_live_ids, v_flush_ids, v_vouched_from, v_vouched_to, '{}', v_segment_lanes,
                v_segment_counts, v_keys, v_frames, false) a
            where p_wait_ms is null
            union all
            select v_live[a.ordinal], a.verdict, a.last_offset, a.duplicate_positions
            from queen_store.append_waiting(
                v_live_ids, v_flush_ids, v_vouched_from, v_vouched_to, '{}', v_segment_lanes,
                v_segment_counts, v_keys, v_frames, p_wait_ms) a
            where p_wait_ms is not null
        loop
            v_lasts[lane] := last_offset;
            v_verdicts[lane] := case verdict
                when 'queued' then 'fired'
                when 'duplicate' then 'duplicate'
                else 'busy' end;
            if v_positions is not null then
                v_lane := lane;
                for v_timer in
                    select i.ordinal
                    from (
                        select t.ordinal, row_number() over (order by t.ordinal) - 1 as position
                        from unnest(p_lanes) with ordinality as t (lane, ordinal)
                        where t.lane = v_lane) i
                    where i.position = any (v_positions)
                loop
                    v_gone[v_timer] := true;
                end loop;
            end if;
        end loop;
    end if;

    delete from queen_store.timers t
    where t.ctid = any (array(
        select i.tid
        from unnest(v_tids, p_lanes, v_gone) as i (tid, lane, gone)
        where v_verdicts[i.lane] = 'fired' or i.gone));
    if array_length(array_remove(v_verdicts, 'fired'), 1) > 0 then
        select array_agg(i.tid), array_agg(i.tid) filter (where v_verdicts[i.lane] = 'busy')
        into v_back, v_paused
        from unnest(v_tids, p_lanes, v_gone) as i (tid, lane, gone)
        where v_verdicts[i.lane] not in ('fired', 'locked') and i.tid is not null and not i.gone
          and (v_verdicts[i.lane] <> 'busy' or p_busy_pause_ms is not null);
        v_until := clock_timestamp() + nullif(p_busy_pause_ms, 0) * interval '1 millisecond';
        update queen_store.timers t
        set claim_token = null,
            held_until = case when t.ctid = any (v_paused) then v_until end
        where t.ctid = any (v_back);
    end if;

    return query
    select l.lane::integer, l.verdict, v_queue_ids[l.lane], v_partition_ids[l.lane],
           v_lasts[l.lane],
           (select count(*)
            from unnest(p_lanes, v_gone) as i (lane, gone)
            where i.lane = l.lane and i.gone)::integer
    from unnest(v_verdicts) with ordinality as l (verdict, lane)
    order by l.lane;
end
$$;

comment on function queen_store.fire_timers(
    uuid[], text[], text[], uuid[], integer[], uuid[], text[], text[], bigint[], boolean[],
    boolean[], integer[], integer[], bytea[], bytea[], integer, integer) is
    'Turns claimed timers into messages: stored in their lanes and deleted here in one commit. Locks: timers, skip locked; advisory on the names of missing queues and lanes, tried only; queues and partitions: new rows; partitions, ascending id; skips what is held, or waits up to p_wait_ms each; epochs as append.';

-- queen_store.release_timers: gives claimed timers back, no attempt charged.
-- Called by  TimerProcedures
-- Locks      timers, skip locked
-- Returns    how many were still claimed by these numbers; they can be claimed after p_pause_ms
-- Raises     nothing
-- Cost       2 statements, primary keys only
create or replace function queen_store.release_timers(
    p_tenant_ids uuid[], p_queues text[], p_timer_keys text[], p_claim_tokens uuid[],
    p_pause_ms integer)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_tokens uuid[];
    -- Without a pause they keep their place before those that were due later.
    v_until timestamptz :=
        clock_timestamp() + nullif(p_pause_ms, 0) * interval '1 millisecond';
    v_released integer;
begin
    v_tokens := array(
        select t.claim_token
        from unnest(p_tenant_ids, p_queues, p_timer_keys, p_claim_tokens)
            as i (tenant_id, queue, timer_key, claim_token)
        join queen_store.timers t
            on t.tenant_id = i.tenant_id and t.queue = i.queue and t.timer_key = i.timer_key
            and t.claim_token = i.claim_token
        for update of t skip locked);
    update queen_store.timers t
    set claim_token = null, held_until = v_until
    from unnest(p_tenant_ids, p_queues, p_timer_keys, p_claim_tokens)
        as i (tenant_id, queue, timer_key, claim_token)
    where t.tenant_id = i.tenant_id and t.queue = i.queue and t.timer_key = i.timer_key
      and t.claim_token = i.claim_token and t.claim_token = any (v_tokens);
    get diagnostics v_released = row_count;
    return v_released;
end
$$;

comment on function queen_store.release_timers(uuid[], text[], text[], uuid[], integer) is
    'Gives claimed timers back, no attempt charged. Locks: timers, skip locked.';

-- queen_store.fail_timers: charges claimed timers an attempt, since what stopped them lies in
-- themselves. One that has had p_attempts_max of them becomes a dead letter of the lane it was to
-- go to, of group __timer__ and at offset -1.
-- Called by  TimerProcedures
-- Locks      timers, skip locked; advisory on the names of missing queues and lanes, tried only;
--            queues and partitions: new rows; dead_letters and count_deltas: new rows
-- Returns    how many became dead letters. The others, and those whose lane somebody is making, can
--            be claimed after a pause that doubles with each attempt
-- Raises     nothing
-- Cost       2 statements, primary keys only; where attempts are used up that of ensure_lanes and
--            2 more
create or replace function queen_store.fail_timers(
    p_tenant_ids uuid[], p_queues text[], p_timer_keys text[], p_claim_tokens uuid[],
    p_errors text[], p_attempts_max integer, p_pause_min_ms integer, p_pause_max_ms integer)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_tokens uuid[];
    -- Timers that are given up, and their lanes.
    v_tenant_ids uuid[];
    v_queues text[];
    v_timer_keys text[];
    v_partitions text[];
    v_queue_ids integer[];
    v_partition_ids bigint[];
    v_dead integer := 0;
begin
    v_tokens := array(
        select t.claim_token
        from unnest(p_tenant_ids, p_queues, p_timer_keys, p_claim_tokens)
            as i (tenant_id, queue, timer_key, claim_token)
        join queen_store.timers t
            on t.tenant_id = i.tenant_id and t.queue = i.queue and t.timer_key = i.timer_key
            and t.claim_token = i.claim_token
        for update of t skip locked);
    with failed as (
        update queen_store.timers t
        set attempts = t.attempts + 1,
            last_error = i.error,
            claim_token = null,
            held_until = clock_timestamp() + interval '1 millisecond'
                * least(p_pause_max_ms, p_pause_min_ms * 2.0 ^ least(t.attempts, 30))
        from unnest(p_tenant_ids, p_queues, p_timer_keys, p_claim_tokens, p_errors)
            as i (tenant_id, queue, timer_key, claim_token, error)
        where t.tenant_id = i.tenant_id and t.queue = i.queue and t.timer_key = i.timer_key
          and t.claim_token = i.claim_token and t.claim_token = any (v_tokens)
        returning t.tenant_id, t.queue, t.timer_key, t.partition, t.attempts)
    select array_agg(f.tenant_id), array_agg(f.queue), array_agg(f.timer_key),
           array_agg(f.partition)
    into v_tenant_ids, v_queues, v_timer_keys, v_partitions
    from failed f
    where f.attempts >= p_attempts_max;
    if v_tenant_ids is null then
        return 0;
    end if;

    select array_agg(e.queue_id order by e.ordinal), array_agg(e.partition_id order by e.ordinal)
    into v_queue_ids, v_partition_ids
    from queen_store.ensure_lanes(v_tenant_ids, v_queues, v_partitions) e;
    with given_up as (
        delete from queen_store.timers t
        using unnest(v_tenant_ids, v_queues, v_timer_keys, v_queue_ids, v_partition_ids)
            as i (tenant_id, queue, timer_key, queue_id, partition_id)
        where i.partition_id is not null
          and t.tenant_id = i.tenant_id and t.queue = i.queue and t.timer_key = i.timer_key
        returning i.queue_id, i.partition_id, t.message_id, t.transaction_id, t.payload,
            t.encrypted, t.producer, t.last_error, t.attempts),
    filed as (
        insert into queen_store.dead_letters (
            queue_id, partition_id, group_name, "offset", message_id, transaction_id, key,
            payload, flags, producer, error, retry_count)
        select g.queue_id, g.partition_id, '__timer__', -1, g.message_id, g.transaction_id,
               queen_store.key_of(g.transaction_id), g.payload,
               (case when g.encrypted then 32 else 0 end)::smallint, g.producer, g.last_error,
               g.attempts
        from given_up g
        returning queue_id)
    select count(*), array_agg(f.queue_id) into v_dead, v_queue_ids
    from filed f;
    if v_dead > 0 then
        perform queen_store.add_counts(
            v_queue_ids, array_fill(0, array[v_dead]), null, null, null, null, null,
            array_fill(1::bigint, array[v_dead]), null, false);
    end if;
    return v_dead;
end
$$;

comment on function queen_store.fail_timers(
    uuid[], text[], text[], uuid[], text[], integer, integer, integer) is
    'Charges claimed timers an attempt; files those that have used them up as dead letters. Locks: timers, skip locked; advisory on the names of missing queues and lanes, tried only; queues and partitions: new rows; dead_letters and count_deltas: new rows.';

-- queen_store.read_timers: timers of a queue in order of their keys.
-- Called by  TimerProcedures, queen.timer_get, queen.timer_list
-- Locks      none
-- Returns    those with one of p_timer_keys, or where that is null the first p_limit behind p_after
-- Raises     nothing
-- Cost       1 statement, one range of the primary key
create or replace function queen_store.read_timers(
    p_tenant_id uuid, p_queue text, p_timer_keys text[], p_after text, p_limit integer,
    -- Whether payloads come along; else they are null.
    p_payloads boolean)
returns table (
    timer_key text, partition text, deliver_at timestamptz, transaction_id text,
    message_id uuid, payload bytea, encrypted boolean, dedup boolean, producer text,
    attempts integer, last_error text, claimed boolean, created_at timestamptz,
    updated_at timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
begin
    if p_timer_keys is null then
        return query
        select t.timer_key, t.partition, t.deliver_at, t.transaction_id, t.message_id,
               case when p_payloads then t.payload end, t.encrypted, t.dedup, t.producer,
               t.attempts, t.last_error, t.claim_token is not null and t.held_until > v_now,
               t.created_at, t.updated_at
        from queen_store.timers t
        where t.tenant_id = p_tenant_id and t.queue = p_queue
          and t.timer_key > coalesce(p_after, '')
        order by t.timer_key
        limit p_limit;
    else
        return query
        select t.timer_key, t.partition, t.deliver_at, t.transaction_id, t.message_id,
               case when p_payloads then t.payload end, t.encrypted, t.dedup, t.producer,
               t.attempts, t.last_error, t.claim_token is not null and t.held_until > v_now,
               t.created_at, t.updated_at
        from unnest(p_timer_keys) i (timer_key)
        cross join lateral (
            select t.*
            from queen_store.timers t
            where t.tenant_id = p_tenant_id and t.queue = p_queue
              and t.timer_key = i.timer_key
            limit 1) t
        order by t.timer_key;
    end if;
end
$$;

comment on function queen_store.read_timers(uuid, text, text[], text, integer, boolean) is
    'Timers of a queue in order of their keys, or those with given keys. Locks: none.';

-- queen_store.count_timers: how many timers of a queue have keys that begin like this.
-- Called by  TimerReads
-- Locks      none
-- Returns    their number
-- Raises     nothing
-- Cost       1 statement, the index entries that are counted
create or replace function queen_store.count_timers(
    p_tenant_id uuid, p_queue text, p_prefix text)
returns bigint
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
    -- Behind the greatest character there is no key of 512 bytes.
    return (
        select count(*)
        from queen_store.timers t
        where t.tenant_id = p_tenant_id and t.queue = p_queue
          and t.timer_key >= p_prefix and t.timer_key <= p_prefix || repeat(chr(1114111), 128)
          and starts_with(t.timer_key, p_prefix));
end
$$;

comment on function queen_store.count_timers(uuid, text, text) is
    'How many timers of a queue have keys with this prefix. Locks: none.';

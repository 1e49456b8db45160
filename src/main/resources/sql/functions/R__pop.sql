-- Pops: claims of many callers in one call. A claim never waits: a cursor locked by somebody else
-- is a verdict. Only claim decides; what a caller believed about lanes before is a hint.

-- queen_store.claim: takes messages for several jobs (one job = one pop) from candidate lanes, in
-- the order given: lane by lane, until the job's budget or its number of lanes is used up. A job
-- with a lease id gets a lease, one without has its messages committed at once. A group that
-- conflates gets the newest visible message of a lane alone, and the span up to it with it.
-- Called by  claim_leased, claim_first, claim_auto
-- Locks      cursors, skip locked: only those with messages to take and no live lease; leases: new
--            rows
-- Returns    one row per candidate, candidates in any order; for those served one row per segment,
--            offsets ascending, and where at most a quarter of a segment is taken that part as if
--            it were a segment of its own; of one that is empty because a window holds it,
--            batch_end is the offset whose arrival ends the window. The first row of a lane says
--            what changed: messages passed, leased, and whose lease is over
-- Cost       3 statements whatever the number of candidates, primary keys only; segments are read
--            only for as many lanes as the budget is likely to reach; start_committed for lanes of
--            groups that conflate where messages are delayed, first_created_at for lanes that a
--            window holds
create or replace function queen_store.claim(
    p_lease_ids uuid[], p_budgets integer[], p_lane_limits integer[], p_lease_seconds integer[],
    p_several boolean[], p_max_bytes integer, p_jobs integer[], p_partition_ids bigint[],
    p_group_ids integer[])
returns table (
    candidate integer, verdict text, lease_id uuid, lease_expires_at timestamptz,
    visible_at timestamptz, attempt integer, batch_end bigint, last_offset bigint,
    base_offset bigint, first_index integer, message_count integer, created_at timestamptz,
    keys bytea, frames bytea, passed bigint, granted bigint, ended bigint)
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
    -- As many messages end the window of a lane before its time.
    v_window_batch constant integer := 100;
    v_now timestamptz := clock_timestamp();
    v_ordinals integer[];
    v_jobs integer[];
    v_partition_ids bigint[];
    v_group_ids integer[];
    v_epoch integer;
begin
    -- Every look-up below is a lateral with a limit and no condition but the key: so it stays a
    -- probe of the primary key even in a plan that was made while the tables were empty.
    select array_agg(i.ordinal), array_agg(i.job), array_agg(i.partition_id), array_agg(i.group_id),
           min(c.epoch)
    into v_ordinals, v_jobs, v_partition_ids, v_group_ids, v_epoch
    from (
        select distinct on (u.partition_id, u.group_id)
               u.ordinal::integer, u.job, u.partition_id, u.group_id
        from unnest(p_jobs, p_partition_ids, p_group_ids)
            with ordinality u (job, partition_id, group_id, ordinal)
        order by u.partition_id, u.group_id, u.ordinal) i
    cross join lateral (
        select p.last_offset
        from queen_store.partitions p
        where p.id = i.partition_id
        limit 1) p
    cross join lateral (
        select c.epoch
        from queen_store.cursors c
        where c.partition_id = i.partition_id and c.group_id = i.group_id
          and c.committed < p.last_offset
          and (c.lease_expires_at is null or c.lease_expires_at <= v_now)
        for no key update skip locked) c;

    -- A later statement than the lock, so that it sees what the last holder committed.
    v_now := clock_timestamp();
    if v_ordinals is not null then
        return query
        with lane as (
            select i.ordinal, i.job, i.partition_id, i.group_id, c.generation, c.committed, c.epoch,
                   c.attempt_offset, c.attempt_count, p.last_offset, p.log_start,
                   case when c.lease_expires_at > v_now - interval '10 minutes'
                        then c.batch_end - c.committed else 0 end as lapsed,
                   p.last_write_at, greatest(c.committed + 1, p.log_start) as wanted,
                   q.lease_seconds,
                   case when q.delayed_processing_seconds > 0
                        then make_interval(secs => q.delayed_processing_seconds) end as delay,
                   case when q.lease_seconds is null or q.deleted_at is not null
                          or g.queue_id is distinct from p.queue_id then 'unknown_partition'
                        when g.generation <> c.generation then 'no_cursor' end as refusal,
                   case when q.window_buffer_seconds > 0
                         and p.last_offset - greatest(c.committed + 1, p.log_start) + 1
                             between 1 and v_window_batch - 1
                        then queen_store.first_created_at(
                                 i.partition_id, c.epoch, greatest(c.committed + 1, p.log_start))
                             + make_interval(secs => q.window_buffer_seconds) end as held_until,
                   p_lease_ids[i.job] as lease_id,
                   coalesce(g.conflation, false) as conflates,
                   greatest(p_budgets[i.job], 1) as budget,
                   case when g.conflation then 1 else greatest(p_budgets[i.job], 1) end as reach,
                   case when p_several[i.job] then p_lane_limits[i.job] else 1 end as lane_limit
            from unnest(v_ordinals, v_jobs, v_partition_ids, v_group_ids)
                i (ordinal, job, partition_id, group_id)
            cross join lateral (
                select c.generation, c.committed, c.epoch, c.attempt_offset, c.attempt_count,
                       c.batch_end, c.lease_expires_at
                from queen_store.cursors c
                where c.partition_id = i.partition_id and c.group_id = i.group_id
                limit 1) c
            left join lateral (
                select p.queue_id, p.last_offset, p.log_start, p.last_write_at
                from queen_store.partitions p
                where p.id = i.partition_id
                limit 1) p on true
            left join lateral (
                select q.deleted_at, q.lease_seconds, q.delayed_processing_seconds,
                       q.window_buffer_seconds
                from queen_store.queues q
                where q.id = p.queue_id
                limit 1) q on true
            left join lateral (
                select g.queue_id, g.generation, g.conflation
                from queen_store.groups g
                where g.id = i.group_id
                limit 1) g on true
            offset 0
        ),
        -- How much the lanes before surely hold: those behind a full budget need no reading.
        counted as (
            select l.*,
                   coalesce(sum(l.sure) over ahead, 0) as sure_messages,
                   count(*) filter (where l.sure > 0) over ahead as sure_lanes
            from (
                select l.*,
                       case when l.refusal is null and l.delay is null
                             and (l.held_until is null or l.held_until <= v_now)
                            then least(greatest(l.last_offset - l.wanted + 1, 0), l.reach)::integer
                            else 0 end as sure
                from lane l) l
            window ahead as (
                partition by l.job order by l.ordinal
                rows between unbounded preceding and 1 preceding)
        ),
        aimed as (
            select l.*,
                   l.refusal is null and l.committed < l.last_offset
                   and l.sure_messages < l.budget
                   and (l.lane_limit = 0 or l.sure_lanes < l.lane_limit) as readable,
                   case when not l.conflates then l.wanted
                        when l.delay is null then l.last_offset
                        else greatest(l.wanted, queen_store.start_committed(
                            l.partition_id, l.log_start, l.last_offset, l.last_write_at, 'instant',
                            v_now - l.delay + interval '1 microsecond')) end as aim
            from counted l
            offset 0
        ),
        -- The segment that covers the first wanted offset, else the first behind the hole. What
        -- must be read from there on is bounded by the budget: a segment holds a message at least.
        -- Under conflation the aim is the newest message visible, and that segment's last it is.
        -- v_epoch says the same as l.epoch, but before the scans of older epochs are even set up.
        slice as (
            select l.*, s.epoch as segment_epoch, s.base_offset, s.created_at, s.keys, s.frames,
                   case when l.conflates then s.end_offset - s.base_offset
                        else greatest(l.wanted - s.base_offset, 0) end::integer as first_index,
                   case when l.conflates then 1
                        else s.end_offset - greatest(l.wanted, s.base_offset) + 1
                        end::integer as available,
                   greatest(s.created_at + l.delay, l.held_until) as visible_at,
                   s.base_offset is null or s.base_offset = f.base_offset as is_first,
                   s.base_offset is not null
                   and (l.delay is null or s.created_at + l.delay <= v_now)
                   and (l.held_until is null or l.held_until <= v_now) as visible
            from aimed l
            left join lateral (
                select coalesce(
                    (select h.base_offset
                     from (select s.base_offset, s.end_offset, s.frames is null as is_gone
                           from queen_store.segments s
                           where s.partition_id = l.partition_id and s.epoch >= l.epoch
                             and s.epoch >= v_epoch and s.base_offset <= l.aim
                           order by s.base_offset desc
                           limit 1) h
                     where h.end_offset >= l.wanted and not h.is_gone),
                    (select s.base_offset
                     from queen_store.segments s
                     where s.partition_id = l.partition_id and s.epoch >= l.epoch
                       and s.epoch >= v_epoch and s.base_offset > l.wanted and s.frames is not null
                     order by s.base_offset
                     limit 1)) as base_offset
                offset 0) f on l.readable
            left join lateral (
                select s.epoch, s.base_offset, s.end_offset, s.created_at, s.keys, s.frames
                from queen_store.segments s
                where s.partition_id = l.partition_id and s.epoch >= l.epoch
                  and s.epoch >= v_epoch and s.base_offset >= f.base_offset
                  and s.base_offset < greatest(l.wanted, f.base_offset) + l.reach
                  and s.frames is not null
                offset 0) s on f.base_offset is not null
        ),
        walked as (
            select s.*,
                   sum(case when s.visible then s.available end) over walk
                       - s.available as messages_before,
                   count(*) filter (where s.visible and s.is_first) over walk as lanes_so_far,
                   sum(case when s.visible then octet_length(s.frames) end) over walk
                       as bytes_so_far
            from slice s
            window walk as (
                partition by s.job order by s.ordinal, s.base_offset rows unbounded preceding)
        ),
        taken as (
            select w.*,
                   case when w.visible and w.messages_before < w.budget
                         and (w.lane_limit = 0 or w.lanes_so_far <= w.lane_limit)
                         -- Without a lease only what is returned here may be committed.
                         and (w.lease_id is not null or w.messages_before = 0
                              or w.bytes_so_far <= p_max_bytes)
                        then least(w.available, w.budget - w.messages_before)::integer
                        end as take
            from walked w
        ),
        outcome as materialized (
            select t.*,
                   max(t.base_offset + t.first_index + t.take - 1) over lane as lane_end,
                   max(case when t.take > 0 then t.segment_epoch end) over lane as lane_epoch,
                   bool_or(t.visible) over lane as lane_visible,
                   min(case when not t.visible then t.visible_at end) over lane as lane_visible_at,
                   case when t.lease_id is not null then v_now + make_interval(secs => case
                       when p_lease_seconds[t.job] > 0 then p_lease_seconds[t.job]
                       else t.lease_seconds end) end as expires_at,
                   queen_store.lease_uuid(t.lease_id, case
                       when p_several[t.job] then 0 else t.partition_id end) as full_lease_id,
                   case when t.conflates then t.committed + 1
                        else t.base_offset + t.first_index end as delivered_from,
                   max(case when t.is_first and t.lease_id is not null
                             and t.attempt_offset = case
                                 when t.conflates then t.committed + 1
                                 else t.base_offset + t.first_index end
                            then t.attempt_count + 1 else 1 end) over lane as next_attempt,
                   -- Frames that go with the answer; others are read for themselves.
                   t.take > 0 and (t.lease_id is null or t.bytes_so_far <= p_max_bytes)
                       as returned,
                   -- Nothing is retained beyond the cursor: it may stop counting as pending.
                   t.readable and t.base_offset is null as sealed
            from taken t
            window lane as (partition by t.job, t.ordinal)
        ),
        -- Not an update with a join: the key probe of "on conflict" cannot become a scan, and every
        -- row is there and locked.
        written as (
            insert into queen_store.cursors as c (
                partition_id, group_id, generation, epoch, committed, batch_end, lease_id,
                lease_expires_at, attempt_offset, attempt_count, lease_conflated)
            select o.partition_id, o.group_id, o.generation,
                   -- No other than the open epoch, see evacuate; with an older snapshot it may be
                   -- sealed by now.
                   case when o.lease_id is null and not o.sealed
                         and current_setting('transaction_isolation') = 'read committed'
                         and o.lane_epoch = (
                             select e.epoch from queen_store.epochs e where e.state = 'open')
                        then o.lane_epoch else o.epoch end,
                   case when o.sealed then o.last_offset
                        when o.lease_id is null then o.lane_end
                        else o.committed end,
                   case when not o.sealed and o.lease_id is not null then o.lane_end end,
                   case when not o.sealed then o.full_lease_id end,
                   case when not o.sealed then o.expires_at end,
                   case when not o.sealed and o.lease_id is not null
                        then o.delivered_from else o.attempt_offset end,
                   case when not o.sealed and o.lease_id is not null
                        then o.next_attempt else o.attempt_count end,
                   o.conflates
            from outcome o
            where o.is_first and (o.take > 0 or o.sealed)
            on conflict (partition_id, group_id) do update
            set epoch = excluded.epoch, committed = excluded.committed,
                batch_end = excluded.batch_end, lease_id = excluded.lease_id,
                lease_expires_at = excluded.lease_expires_at,
                attempt_offset = excluded.attempt_offset, attempt_count = excluded.attempt_count,
                lease_conflated = excluded.lease_conflated
        ),
        listed as (
            insert into queen_store.leases (lease_id, partition_ids, group_ids, expires_at)
            select o.full_lease_id, array_agg(o.partition_id order by o.ordinal),
                   array_agg(o.group_id order by o.ordinal), max(o.expires_at)
            from outcome o
            where o.is_first and o.take > 0 and o.lease_id is not null and p_several[o.job]
            group by o.full_lease_id
        )
        select o.ordinal,
               case when o.take > 0
                        then case when o.lease_id is null then 'served' else 'leased' end
                    when o.refusal is not null then o.refusal
                    when o.lane_visible or (not o.readable and o.committed < o.last_offset)
                        then 'spare'
                    else 'empty' end,
               case when o.take > 0 then o.full_lease_id end,
               case when o.take > 0 then o.expires_at end,
               o.lane_visible_at,
               case when o.take > 0 then o.next_attempt end,
               case when o.take > 0 then o.lane_end
                    when o.held_until > v_now then o.wanted + v_window_batch - 1 end,
               o.last_offset,
               case when o.take > 0
                    then o.base_offset + case when x.frames is null then 0 else o.first_index end
                    end,
               case when x.frames is not null then 0
                    when o.take > 0 then o.first_index end,
               o.take,
               case when o.take > 0 then o.created_at end,
               case when x.frames is not null
                        then substring(o.keys from 16 * o.first_index + 1 for 16 * o.take)
                    when o.take > 0 then o.keys end,
               coalesce(x.frames, case when o.returned then o.frames end),
               case when o.is_first and o.take > 0 and o.lease_id is null
                    then o.lane_end - o.wanted + 1 end,
               case when o.is_first and o.take > 0 and o.lease_id is not null
                    then o.lane_end - o.committed end,
               case when o.is_first and (o.take > 0 or o.sealed) then o.lapsed end
        from outcome o
        -- Of a segment of which little is taken, that little.
        cross join lateral (
            select case when o.returned and o.take * 4 <= octet_length(o.keys) / 16
                then queen_store.cut_frames(
                    o.frames, octet_length(o.keys) / 16, o.first_index, o.take) end as frames
            offset 0) x
        where o.take > 0 or (o.is_first and o.lane_end is null)
        order by o.ordinal, o.base_offset;
    end if;

    if cardinality(v_ordinals) is distinct from cardinality(p_jobs) then
        return query
        select i.ordinal::integer,
               case when q.id is null or q.deleted_at is not null
                      or g.queue_id is distinct from p.queue_id then 'unknown_partition'
                    when c.generation is distinct from g.generation then 'no_cursor'
                    when c.lease_expires_at > v_now then 'held'
                    when c.committed >= p.last_offset then 'empty'
                    else 'busy' end,
               null::uuid,
               case when c.generation = g.generation and c.lease_expires_at > v_now
                    then c.lease_expires_at end,
               null::timestamptz, null::integer, null::bigint, p.last_offset, null::bigint,
               null::integer, null::integer, null::timestamptz, null::bytea, null::bytea,
               null::bigint, null::bigint, null::bigint
        from unnest(p_partition_ids, p_group_ids) with ordinality
            i (partition_id, group_id, ordinal)
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
            select g.queue_id, g.generation
            from queen_store.groups g
            where g.id = i.group_id
            limit 1) g on true
        left join lateral (
            select c.generation, c.committed, c.lease_expires_at
            from queen_store.cursors c
            where c.partition_id = i.partition_id and c.group_id = i.group_id
            limit 1) c on true
        where v_ordinals is null or i.ordinal <> all (v_ordinals)
        order by i.ordinal;
    end if;
end
$$;
comment on function queen_store.claim(
    uuid[], integer[], integer[], integer[], boolean[], integer, integer[], bigint[], integer[]) is
    'Takes messages for several pops from candidate lanes; the body of claim_leased, claim_first and claim_auto. Locks: cursors, skip locked: only those with messages to take and no live lease; leases: new rows.';

-- queen_store.first_created_at: when the first retained message from an offset on was stored, for
-- lanes whose window opens with it.
-- Called by  claim, pending_messages, the view of lagging lanes, oldest_unread
-- Locks      none
-- Returns    null = nothing is retained from there on
-- Cost       1 statement of 1 index probe, 2 behind a hole
create or replace function queen_store.first_created_at(
    p_partition_id bigint, p_epoch integer, p_from bigint)
returns timestamptz
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
    return coalesce(
        (select h.created_at
         from (select s.end_offset, s.created_at, s.frames is null as is_gone
               from queen_store.segments s
               where s.partition_id = p_partition_id and s.epoch >= p_epoch
                 and s.base_offset <= p_from
               order by s.base_offset desc
               limit 1) h
         where h.end_offset >= p_from and not h.is_gone),
        (select s.created_at
         from queen_store.segments s
         where s.partition_id = p_partition_id and s.epoch >= p_epoch and s.base_offset > p_from
           and s.frames is not null
         order by s.base_offset
         limit 1));
end
$$;
comment on function queen_store.first_created_at(bigint, integer, bigint) is
    'When the first retained message of a lane from an offset on was stored. Locks: none.';

-- queen_store.pending_messages: how much a pop of these lanes, tried in this order, would be given
-- now. An estimate, for a pop that waits for a full batch: nothing is locked, offsets are counted
-- for messages, and only a claim decides.
-- Called by  PopProcedures
-- Locks      none
-- Returns    one row: messages, at most p_limit, and how many of the lanes, from the first on, hold
--            them; a lane under a live lease, hidden by delayedProcessing or held by windowBuffer
--            counts nothing, one of a group that conflates 1. p_lane_limit 0 = no cap
-- Cost       1 statement of a few primary-key probes per lane; start_committed for lanes without a
--            cursor and where messages are delayed, first_created_at for lanes that a window holds
create or replace function queen_store.pending_messages(
    p_partition_ids bigint[], p_group_id integer, p_lane_limit integer, p_limit integer)
returns table (messages integer, lanes integer)
language plpgsql stable parallel safe
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
begin
    return query
    with lane as (
        select i.ordinal::integer, p.id, p.last_offset, p.log_start, p.last_write_at,
               case when q.delayed_processing_seconds > 0
                    then make_interval(secs => q.delayed_processing_seconds) end as delay,
               q.window_buffer_seconds, g.conflation,
               case when c.generation = g.generation then c.epoch else 0 end as epoch,
               greatest(p.log_start, 1 + case
                   when c.generation = g.generation then c.committed
                   else queen_store.start_committed(
                       p.id, p.log_start, p.last_offset, p.last_write_at,
                       coalesce(g.seek_rule, g.start_rule),
                       case when g.seek_rule is null then g.start_at else g.seek_at end)
                   end) as wanted
        from unnest(p_partition_ids) with ordinality i (partition_id, ordinal)
        cross join lateral (
            select p.id, p.queue_id, p.last_offset, p.log_start, p.last_write_at
            from queen_store.partitions p
            where p.id = i.partition_id
            limit 1) p
        cross join lateral (
            select q.deleted_at, q.delayed_processing_seconds, q.window_buffer_seconds
            from queen_store.queues q
            where q.id = p.queue_id
            limit 1) q
        cross join lateral (
            select g.queue_id, g.generation, g.start_rule, g.start_at, g.seek_rule, g.seek_at,
                   g.conflation
            from queen_store.groups g
            where g.id = p_group_id
            limit 1) g
        left join lateral (
            select c.generation, c.epoch, c.committed, c.lease_expires_at
            from queen_store.cursors c
            where c.partition_id = p.id and c.group_id = p_group_id
            limit 1) c on true
        where q.deleted_at is null and g.queue_id = p.queue_id
          and not coalesce(c.generation = g.generation and c.lease_expires_at > v_now, false)
        offset 0
    ),
    visible as (
        select l.ordinal, l.conflation,
               case
                   when l.last_offset - l.wanted + 1 between 1 and 99
                    and l.window_buffer_seconds > 0
                    and queen_store.first_created_at(l.id, l.epoch, l.wanted)
                        + make_interval(secs => l.window_buffer_seconds) > v_now then 0
                   when l.delay is null then l.last_offset - l.wanted + 1
                   else queen_store.start_committed(
                            l.id, l.log_start, l.last_offset, l.last_write_at, 'instant',
                            v_now - l.delay + interval '1 microsecond') - l.wanted + 1
                   end as pending
        from lane l
        where l.wanted <= l.last_offset
        offset 0
    ),
    given as (
        select v.ordinal, case when v.conflation then 1 else v.pending end as pending
        from visible v
        where v.pending > 0
        order by v.ordinal
        limit nullif(p_lane_limit, 0)
    )
    select least(coalesce(sum(w.pending), 0), p_limit)::integer, coalesce(max(w.ordinal), 0)
    from (
        select g.ordinal, g.pending, sum(g.pending) over (order by g.ordinal) - g.pending as before
        from given g) w
    where w.before < p_limit;
end
$$;
comment on function queen_store.pending_messages(bigint[], integer, integer, integer) is
    'How many messages a pop of these lanes would be given now; an estimate. Locks: none.';

-- queen_store.claim_leased: the claim of pops with a lease, for lanes where the group has a cursor.
-- Its commit is not flushed: a lease lost in a crash of the server only redelivers. The setting
-- holds for the whole transaction, so nothing but the broker, in autocommit, may call this.
-- Called by  PopProcedures
-- Locks      cursors, skip locked; leases: new rows
-- Returns    per candidate leased, empty, held, busy, no_cursor, unknown_partition or spare (budget
--            or lane limit used up); empty with visible_at = hidden by delayedProcessing or held by
--            windowBuffer until then
-- Cost       claim
create or replace function queen_store.claim_leased(
    p_lease_ids uuid[], p_budgets integer[], p_lane_limits integer[], p_lease_seconds integer[],
    p_several boolean[], p_max_bytes integer, p_jobs integer[], p_partition_ids bigint[],
    p_group_ids integer[])
returns table (
    candidate integer, verdict text, lease_id uuid, lease_expires_at timestamptz,
    visible_at timestamptz, attempt integer, batch_end bigint, last_offset bigint,
    base_offset bigint, first_index integer, message_count integer, created_at timestamptz,
    keys bytea, frames bytea, passed bigint, granted bigint, ended bigint)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select c.*
    from queen_store.claim(
        p_lease_ids, p_budgets, p_lane_limits, p_lease_seconds, p_several, p_max_bytes, p_jobs,
        p_partition_ids, p_group_ids) c;
    perform set_config('synchronous_commit', 'off', true);
end
$$;
comment on function queen_store.claim_leased(
    uuid[], integer[], integer[], integer[], boolean[], integer, integer[], bigint[], integer[]) is
    'Leases messages for several pops; commits without a flush, so for brokers in autocommit only. Locks: cursors, skip locked; leases: new rows.';

-- queen_store.claim_auto: the claim of pops without a lease. What it returns is committed, and
-- nothing else: a job takes at most p_max_bytes of frames, or one segment if that is larger.
-- Called by  PopProcedures
-- Locks      cursors, skip locked; groups at a group's first message ever, skip locked; leases:
--            none
-- Returns    as claim_leased, but served for leased
-- Cost       claim, and 1 statement over the groups
create or replace function queen_store.claim_auto(
    p_budgets integer[], p_lane_limits integer[], p_max_bytes integer, p_jobs integer[],
    p_partition_ids bigint[], p_group_ids integer[])
returns table (
    candidate integer, verdict text, lease_id uuid, lease_expires_at timestamptz,
    visible_at timestamptz, attempt integer, batch_end bigint, last_offset bigint,
    base_offset bigint, first_index integer, message_count integer, created_at timestamptz,
    keys bytea, frames bytea, passed bigint, granted bigint, ended bigint)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with claimed as materialized (
        select c.*
        from queen_store.claim(
            array_fill(null::uuid, array[cardinality(p_budgets)]), p_budgets, p_lane_limits,
            array_fill(0, array[cardinality(p_budgets)]),
            array_fill(true, array[cardinality(p_budgets)]), p_max_bytes, p_jobs,
            p_partition_ids, p_group_ids) c
    )
    select c.*
    from claimed c
    cross join queen_store.mark_consumed(array(
        select distinct p_group_ids[c.candidate] from claimed c where c.verdict = 'served')) m;
end
$$;
comment on function queen_store.claim_auto(
    integer[], integer[], integer, integer[], bigint[], integer[]) is
    'Takes messages for several pops and commits the cursors at once. Locks: cursors, skip locked; groups at a group''s first message ever, skip locked; leases: none.';

-- queen_store.claim_first: the claim for lanes where the group may have no cursor yet: places it by
-- the group's rule, or by the candidate's where the group has none ("new" = from now on). A lane
-- of a registered group with nothing to deliver gets no row. The commit is flushed: a lost place
-- would be taken later, past messages.
-- Called by  PopProcedures, queen.pop
-- Locks      advisory on (lane, group), tried only; cursors, skip locked; leases: new rows; groups
--            at a group's first message ever, skip locked
-- Returns    as claim_leased; a job without lease id is served at once
-- Cost       claim and 3 statements, and start_committed per new cursor
create or replace function queen_store.claim_first(
    p_lease_ids uuid[], p_budgets integer[], p_lane_limits integer[], p_lease_seconds integer[],
    p_several boolean[], p_max_bytes integer, p_jobs integer[], p_partition_ids bigint[],
    p_group_ids integer[], p_rules text[], p_instants timestamptz[])
returns table (
    candidate integer, verdict text, lease_id uuid, lease_expires_at timestamptz,
    visible_at timestamptz, attempt integer, batch_end bigint, last_offset bigint,
    base_offset bigint, first_index integer, message_count integer, created_at timestamptz,
    keys bytea, frames bytea, passed bigint, granted bigint, ended bigint)
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
    v_new_at timestamptz :=
        case when 'new' = any (p_rules) then queen_store.safe_instant() end;
    v_ordinals integer[];
    v_partition_ids bigint[];
    v_group_ids integer[];
    v_generations integer[];
    v_rules text[];
    v_ats timestamptz[];
    v_ruleless integer[];
    v_last_offsets bigint[];
begin
    with missing as materialized (
        select distinct on (i.partition_id, i.group_id)
               i.ordinal::integer, i.partition_id, i.group_id, g.generation,
               c.generation is not null as stale,
               coalesce(g.seek_rule, g.start_rule,
                        case when i.rule = 'new' then 'instant' else i.rule end) as rule,
               case when g.seek_rule is not null then g.seek_at
                    when g.start_rule is not null then g.start_at
                    when i.rule = 'new' then least(v_new_at, i.instant)
                    else i.instant end as at
        from unnest(p_partition_ids, p_group_ids, p_rules, p_instants)
            with ordinality i (partition_id, group_id, rule, instant, ordinal)
        cross join lateral (
            select p.queue_id
            from queen_store.partitions p
            where p.id = i.partition_id
            limit 1) p
        cross join lateral (
            select q.deleted_at
            from queen_store.queues q
            where q.id = p.queue_id
            limit 1) q
        cross join lateral (
            select g.queue_id, g.generation, g.start_rule, g.start_at, g.seek_rule, g.seek_at
            from queen_store.groups g
            where g.id = i.group_id
            limit 1) g
        left join lateral (
            select c.generation
            from queen_store.cursors c
            where c.partition_id = i.partition_id and c.group_id = i.group_id
            limit 1) c on true
        where q.deleted_at is null and g.queue_id = p.queue_id
          and c.generation is distinct from g.generation
        order by i.partition_id, i.group_id, i.ordinal
    ),
    granted as (
        select m.ordinal, m.partition_id, m.group_id, m.generation, m.rule, m.at
        from missing m
        where m.rule is not null
          and pg_try_advisory_xact_lock(
              queen_store.lock_key('cursor', m.partition_id::text, m.group_id::text))
          -- A cursor of an older generation is overwritten, so its row must be ours too.
          and (not m.stale or exists (
              select
              from queen_store.cursors c
              where c.partition_id = m.partition_id and c.group_id = m.group_id
              for no key update skip locked))
    )
    select array_agg(g.ordinal), array_agg(g.partition_id), array_agg(g.group_id),
           array_agg(g.generation), array_agg(g.rule), array_agg(g.at),
           (select array_agg(m.ordinal) from missing m where m.rule is null)
    into v_ordinals, v_partition_ids, v_group_ids, v_generations, v_rules, v_ats, v_ruleless
    from granted g;

    if v_ordinals is not null then
        -- A later statement than the locks: whoever placed the cursor before us is seen here. A
        -- group that was moved since has another rule, and is left to the next try.
        with start as materialized (
            select i.ordinal, i.partition_id, i.group_id, g.generation, g.registered, p.last_offset,
                   queen_store.start_committed(
                       i.partition_id, p.log_start, p.last_offset, p.last_write_at, i.rule, i.at)
                       as committed
            from unnest(v_ordinals, v_partition_ids, v_group_ids, v_generations, v_rules, v_ats)
                i (ordinal, partition_id, group_id, generation, rule, at)
            cross join lateral (
                select p.log_start, p.last_offset, p.last_write_at
                from queen_store.partitions p
                where p.id = i.partition_id
                limit 1) p
            cross join lateral (
                select g.generation, coalesce(g.seek_rule, g.start_rule) is not null as registered
                from queen_store.groups g
                where g.id = i.group_id
                limit 1) g
            where g.generation = i.generation
        ),
        placed as (
            insert into queen_store.cursors as c (partition_id, group_id, generation, committed)
            select s.partition_id, s.group_id, s.generation, s.committed
            from start s
            where s.committed < s.last_offset or not s.registered
            on conflict (partition_id, group_id) do update
            set generation = excluded.generation, epoch = 0, committed = excluded.committed,
                prev_committed = null, prev_end = null, batch_end = null, lease_id = null,
                prev_lease = null, lease_expires_at = null, retry_count = 0, attempt_offset = null,
                attempt_count = 0
            where c.generation < excluded.generation
        )
        select array_agg(s.ordinal), array_agg(s.last_offset)
        into v_ordinals, v_last_offsets
        from start s;
    end if;

    return query
    with claimed as materialized (
        select c.*
        from queen_store.claim(
            p_lease_ids, p_budgets, p_lane_limits, p_lease_seconds, p_several, p_max_bytes,
            p_jobs, p_partition_ids, p_group_ids) c
    )
    select c.candidate,
           case when c.verdict <> 'no_cursor' or c.candidate = any (v_ruleless) then c.verdict
                when c.candidate = any (v_ordinals) then 'empty'
                else 'busy' end,
           c.lease_id, c.lease_expires_at, c.visible_at, c.attempt, c.batch_end,
           -- Empty up to where that was decided: what came since is news.
           case when c.verdict = 'no_cursor'
                then coalesce(v_last_offsets[array_position(v_ordinals, c.candidate)],
                              c.last_offset)
                else c.last_offset end,
           c.base_offset, c.first_index, c.message_count, c.created_at, c.keys, c.frames,
           c.passed, c.granted, c.ended
    from claimed c
    cross join queen_store.mark_consumed(array(
        select distinct p_group_ids[c.candidate] from claimed c where c.verdict = 'served')) m;
end
$$;
comment on function queen_store.claim_first(
    uuid[], integer[], integer[], integer[], boolean[], integer, integer[], bigint[], integer[],
    text[], timestamptz[]) is
    'Places missing cursors, then takes messages for several pops. Locks: advisory on (lane, group), tried only; cursors, skip locked; leases: new rows; groups at a group''s first message ever, skip locked.';

-- queen_store.read_segments: segments by their first offset.
-- Called by  PopProcedures, FetchProcedures, queen.pop
-- Locks      none: segments never change
-- Returns    one row per input that is still retained, with its ordinal
-- Cost       1 statement, one index probe per input
create or replace function queen_store.read_segments(
    p_partition_ids bigint[], p_base_offsets bigint[])
returns table (
    ordinal integer, base_offset bigint, end_offset bigint, created_at timestamptz, keys bytea,
    frames bytea)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    select i.ordinal::integer, s.base_offset, s.end_offset, s.created_at, s.keys, s.frames
    from unnest(p_partition_ids, p_base_offsets) with ordinality
        i (partition_id, base_offset, ordinal)
    cross join lateral (
        select s.base_offset, s.end_offset, s.created_at, s.keys, s.frames
        from queen_store.segments s
        where s.partition_id = i.partition_id and s.base_offset = i.base_offset
        limit 1) s
    order by i.ordinal;
end
$$;
comment on function queen_store.read_segments(bigint[], bigint[]) is
    'Segments by lane and first offset. Locks: none: segments never change.';

-- queen_store.release_lease: gives a claim back as if it had never been: the client was gone, or
-- the answer was lost.
-- Called by  PopProcedures
-- Locks      cursors, skip locked; one that is locked keeps its lease until it expires
-- Returns    lanes released; a lease that is no longer held releases nothing
-- Cost       2 statements, one index probe per lane and group
create or replace function queen_store.release_lease(
    -- The lease, or the id that was minted for it: who lost the answer knows no lane's number.
    p_lease_id uuid, p_partition_ids bigint[], p_group_ids integer[])
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
    v_queue_ids integer[];
    v_group_ids integer[];
    v_ended bigint[];
begin
    with held as materialized (
        select i.partition_id, i.group_id, c.generation, c.committed, c.batch_end,
               c.attempt_offset, c.attempt_count
        from unnest(p_partition_ids, p_group_ids) i (partition_id, group_id)
        cross join lateral (
            select c.generation, c.committed, c.batch_end, c.attempt_offset, c.attempt_count
            from queen_store.cursors c
            where c.partition_id = i.partition_id and c.group_id = i.group_id
              and c.lease_id
                  = queen_store.lease_uuid(p_lease_id, queen_store.lease_number(c.lease_id))
            for no key update skip locked) c
    ),
    released as (
        insert into queen_store.cursors as c (
            partition_id, group_id, generation, committed, attempt_offset, attempt_count)
        select h.partition_id, h.group_id, h.generation, h.committed,
               case when h.attempt_count > 1 then h.attempt_offset end,
               greatest(h.attempt_count - 1, 0)
        from held h
        on conflict (partition_id, group_id) do update
        set batch_end = null, lease_id = null, lease_expires_at = null,
            attempt_offset = excluded.attempt_offset, attempt_count = excluded.attempt_count
    )
    -- A group that was moved has no leases of before, so none ends here.
    select array_agg(g.queue_id), array_agg(h.group_id),
           array_agg(case when g.generation = h.generation then h.batch_end - h.committed end)
    into v_queue_ids, v_group_ids, v_ended
    from held h
    left join lateral (
        select g.queue_id, g.generation
        from queen_store.groups g
        where g.id = h.group_id
        limit 1) g on true;
    perform queen_store.add_counts(
        v_queue_ids, v_group_ids, null, null, null, null, v_ended, null, null, false);
    return coalesce(cardinality(v_group_ids), 0);
end
$$;
comment on function queen_store.release_lease(uuid, bigint[], integer[]) is
    'Gives leased lanes back at once without counting the delivery. Locks: cursors, skip locked; one that is locked keeps its lease until it expires.';

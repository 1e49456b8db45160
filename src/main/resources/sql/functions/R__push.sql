-- Push: the one way into the log. Whatever stores messages calls append; nothing else inserts into
-- segments.

-- queen_store.append: stores lane-batches, each whole or not at all.
-- Every lane is locked first, in key order, and everything that is decided is read after that.
-- Called by  PushProcedures.append, append_waiting, transact, fire_timers, queen.push,
--            replay_dead_letter
-- Locks      partitions, ascending id; skips what is held, or waits with p_wait. In a REPEATABLE
--            READ or SERIALIZABLE transaction also epochs, for share
-- Returns    one row per lane-batch, in any order:
--            queued             stored at base_offset, or found stored there by its flush_id
--            duplicate          not stored: the keys at duplicate_positions (from 0, in the batch)
--                               are in the lane, at duplicate_offsets, under duplicate_ids (nil =
--                               gone)
--            cold               not stored: looking for duplicates would have read too much; come
--                               again vouching for a larger range (read_keys)
--            busy               not stored: somebody else holds the lane
--            unknown_partition  not stored: no such lane, or its queue is deleted
--            last_offset is what the lane has now, for every lane that was locked
-- Raises     QN400 bad_request (arrays that contradict each other, a segment over 1,000 messages)
-- Cost       5 statements for any number of lanes; 1 more per call that settles, and where a lane
--            has several segments; 2 or 3 that probe
create or replace function queen_store.append(
    -- Negative = a lane that had this number at a server that is gone: by now it may be another's,
    -- so nothing is stored there (unknown_partition), but what settles may be found there.
    p_partition_ids bigint[],
    p_flush_ids bigint[],
    -- No key of the lane-batch occurs at these offsets, inclusive; from > to vouches for nothing.
    -- From 0 it does not occur within the dedup window, for what the caller knows of that; from -1
    -- whatever the window is.
    p_vouched_from bigint[],
    p_vouched_to bigint[],
    -- Null at the first attempt; else the batch may be stored above this offset already.
    p_settle_above bigint[],
    -- Segments in order of their messages; lane = place in p_partition_ids, from 1.
    p_segment_lanes integer[],
    p_segment_counts integer[],
    p_keys bytea[],
    p_frames bytea[],
    p_wait boolean)
returns table (
    ordinal integer, verdict text, base_offset bigint, created_at timestamptz, queue_id integer,
    last_offset bigint, duplicate_positions integer[], duplicate_offsets bigint[],
    duplicate_ids uuid[])
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
-- Every plan is right for any size of array; one element must not mean a new plan per call.
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_clock timestamptz;
    -- Locked lanes, ascending: width_bucket finds a lane's place by bisection, so that no statement
    -- has a join whose plan could degenerate.
    v_ids bigint[];
    -- Where their rows are, which are locked and so stay there.
    v_places tid[];
    v_id_queues integer[];
    v_id_lasts bigint[];
    v_id_times timestamptz[];
    v_id_ordinals integer[];
    -- By ordinal of the lane-batch.
    v_counts bigint[];
    v_verdicts text[];
    v_queue_ids integer[];
    v_bases bigint[];
    v_times timestamptz[];
    v_since timestamptz[];
    v_from bigint[];
    v_to bigint[];
    -- By segment: how many messages of its lane-batch come before it.
    v_befores bigint[];
    v_single boolean;
    v_valid boolean;
begin
    -- Nearly always each lane has one segment, and they come in the order of the lanes.
    select
        bool_and(coalesce(i.lane = i.ordinal, false)),
        bool_and(coalesce(
            i.messages between 1 and 1000 and octet_length(i.keys) = 16 * i.messages, false))
    into v_single, v_valid
    from unnest(p_segment_lanes, p_segment_counts, p_keys)
        with ordinality as i(lane, messages, keys, ordinal);
    if v_single then
        v_befores := array_fill(0::bigint, array[cardinality(p_segment_lanes)]);
        v_counts := p_segment_counts;
    else
        select
            array_agg(s.before order by s.ordinal),
            array_agg(s.messages order by s.lane) filter (where s.before = 0),
            v_valid and bool_and(s.valid)
        into v_befores, v_counts, v_valid
        from (
            select i.ordinal, i.lane,
                sum(i.messages) over (partition by i.lane order by i.ordinal) - i.messages
                    as before,
                sum(i.messages) over (partition by i.lane) as messages,
                coalesce(i.lane between 1 and cardinality(p_partition_ids), false) as valid
            from unnest(p_segment_lanes, p_segment_counts)
                with ordinality as i(lane, messages, ordinal)
        ) s;
    end if;
    if v_valid is false
        or array_position(p_partition_ids, null) is not null
        or cardinality(p_partition_ids) is distinct from coalesce(cardinality(v_counts), 0)
        or cardinality(p_partition_ids) is distinct from cardinality(p_flush_ids)
        or cardinality(p_segment_lanes) is distinct from cardinality(p_frames)
        or array_position(p_frames, null) is not null
    then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = 'every lane needs a flush id and segments of 1 to 1000 messages, a key each';
    end if;

    if p_wait then
        select array_agg(l.id), array_agg(l.ctid), array_agg(l.queue_id),
            array_agg(l.last_offset), array_agg(l.last_created_at)
        into v_ids, v_places, v_id_queues, v_id_lasts, v_id_times
        from (
            select p.id, p.ctid, p.queue_id, p.last_offset, p.last_created_at
            from queen_store.partitions p
            where p.id = any (p_partition_ids)
            order by p.id
            for no key update
        ) l;
    else
        select array_agg(l.id), array_agg(l.ctid), array_agg(l.queue_id),
            array_agg(l.last_offset), array_agg(l.last_created_at)
        into v_ids, v_places, v_id_queues, v_id_lasts, v_id_times
        from (
            select p.id, p.ctid, p.queue_id, p.last_offset, p.last_created_at
            from queen_store.partitions p
            where p.id = any (p_partition_ids)
            order by p.id
            for no key update skip locked
        ) l;
    end if;
    v_ids := coalesce(v_ids, '{}');
    -- Under the locks, so that created_at follows the offsets.
    v_clock := clock_timestamp();

    -- What is to become of each lane-batch, as far as the lane's own row tells. A lane that was not
    -- locked but can be seen is held by somebody.
    select
        array_agg(l.verdict order by l.ordinal),
        array_agg(l.queue_id order by l.ordinal),
        array_agg(l.last_offset + 1 order by l.ordinal),
        array_agg(greatest(v_clock, l.last_created_at) order by l.ordinal),
        array_agg(
            case when l.last_created_at >= v_clock - l.dedup_window
                and l.last_offset >= 0
                and (l.vouched_from > 0 or l.vouched_to < l.last_offset)
            then v_clock - l.dedup_window end
            order by l.ordinal),
        array_agg(l.vouched_from order by l.ordinal),
        array_agg(l.vouched_to order by l.ordinal),
        array_agg(l.ordinal order by l.place) filter (where l.place > 0)
    into v_verdicts, v_queue_ids, v_bases, v_times, v_since, v_from, v_to, v_id_ordinals
    from (
        select i.ordinal::integer, i.place, v_id_queues[i.place] as queue_id,
            v_id_lasts[i.place] as last_offset, v_id_times[i.place] as last_created_at,
            case
                when q.id is not null and q.deleted_at is null then 'queued'
                when i.place > 0 or p_wait then 'unknown_partition'
                when (select p.id from queen_store.partitions p where p.id = i.partition_id)
                    is not null then 'busy'
                else 'unknown_partition'
            end as verdict,
            -- What a deleted queue still holds is no original of anything.
            case when q.dedup_window_seconds > 0 and q.deleted_at is null
                then make_interval(secs => q.dedup_window_seconds) end as dedup_window,
            case when v.holds then i.vouched_from
                else v_id_lasts[i.place] + 1 end as vouched_from,
            case when v.holds then i.vouched_to
                else v_id_lasts[i.place] end as vouched_to
        from (
            select u.ordinal, u.partition_id, u.vouched_from, u.vouched_to,
                case when v_ids[width_bucket(u.partition_id, v_ids)] = u.partition_id
                    then width_bucket(u.partition_id, v_ids) else 0 end as place
            from unnest(p_partition_ids, p_vouched_from, p_vouched_to)
                with ordinality as u(partition_id, vouched_from, vouched_to, ordinal)
            where u.ordinal <= cardinality(p_partition_ids)
            offset 0
        ) i
        left join queen_store.queues q on q.id = v_id_queues[i.place]
        -- Longer than any cache of options lives, and a push that waits with what it read there.
        cross join lateral (
            select i.vouched_from <= i.vouched_to
                and (i.vouched_from <> 0 or q.dedup_widened_at is null
                    or q.dedup_widened_at < v_clock - interval '2 minutes') as holds
        ) v
    ) l;
    if cardinality(v_id_ordinals) > cardinality(v_ids) then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = 'a lane may occur once in a call';
    end if;

    -- Nothing else may be decided about a batch that is stored already.
    if cardinality(array_remove(p_settle_above, null)) > 0 then
        for ordinal, base_offset, created_at, queue_id, last_offset in
            select f.ordinal, f.base_offset, f.created_at, f.queue_id, f.last_offset
            from queen_store.find_flushes(p_partition_ids, p_flush_ids, p_settle_above) f
            where v_bases[f.ordinal] is not null or p_partition_ids[f.ordinal] < 0
        loop
            verdict := 'queued';
            v_verdicts[ordinal] := 'settled';
            v_since[ordinal] := null;
            return next;
        end loop;
    end if;

    if cardinality(array_remove(v_since, null)) > 0 then
        base_offset := null;
        created_at := null;
        for ordinal, verdict, duplicate_positions, duplicate_offsets, duplicate_ids in
            select d.ordinal, d.verdict, d.positions, d.offsets, d.ids
            from queen_store.find_duplicates(
                p_partition_ids, v_bases, v_from, v_to, v_since, p_segment_lanes, v_befores,
                p_keys) d
        loop
            queue_id := v_queue_ids[ordinal];
            last_offset := v_bases[ordinal] - 1;
            v_verdicts[ordinal] := verdict;
            return next;
        end loop;
    end if;

    if 'queued' = any (v_verdicts) then
        if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
            -- Such a transaction reads an old epochs row; the lock turns that into 40001, or else
            -- it would write into an epoch that is sealed.
            perform 1 from queen_store.epochs e where e.state = 'open' for share;
        end if;
        -- The epoch is read after the lanes were locked, so that epochs ascend with offsets. Set
        -- returning functions in the select list stream; in FROM they would copy every frame.
        insert into queen_store.segments
            (epoch, partition_id, base_offset, end_offset, created_at, flush_id, keys, frames)
        select
            (select e.epoch from queen_store.epochs e where e.state = 'open'),
            p_partition_ids[s.lane],
            v_bases[s.lane] + s.before,
            v_bases[s.lane] + s.before + s.messages - 1,
            v_times[s.lane], p_flush_ids[s.lane], s.keys, s.frames
        from (
            select unnest(p_segment_lanes) as lane, unnest(v_befores) as before,
                unnest(p_segment_counts) as messages, unnest(p_keys) as keys,
                unnest(p_frames) as frames
        ) s
        where v_verdicts[s.lane] = 'queued';

        -- Indexed columns keep their value but once a second: the update stays heap-only.
        return query
        update queen_store.partitions p
        set last_offset = p.last_offset + v_counts[v_id_ordinals[width_bucket(p.id, v_ids)]],
            last_created_at = greatest(v_clock, p.last_created_at),
            last_write_at = case when p.last_write_at <= v_clock - interval '1 second'
                then v_clock else p.last_write_at end,
            oldest_live_at = coalesce(p.oldest_live_at, greatest(v_clock, p.last_created_at))
        where p.ctid = any (v_places)
            and v_verdicts[v_id_ordinals[width_bucket(p.id, v_ids)]] = 'queued'
        returning
            v_id_ordinals[width_bucket(p.id, v_ids)], 'queued',
            v_bases[v_id_ordinals[width_bucket(p.id, v_ids)]],
            p.last_created_at, p.queue_id, p.last_offset,
            null::integer[], null::bigint[], null::uuid[];
    end if;

    if 'busy' = any (v_verdicts) or 'unknown_partition' = any (v_verdicts) then
        return query
        select v.ordinal::integer, v.verdict, null::bigint, null::timestamptz,
            v_queue_ids[v.ordinal], v_bases[v.ordinal] - 1,
            null::integer[], null::bigint[], null::uuid[]
        from unnest(v_verdicts) with ordinality as v(verdict, ordinal)
        where v.verdict in ('busy', 'unknown_partition');
    end if;
end
$$;

comment on function queen_store.append(
    bigint[], bigint[], bigint[], bigint[], bigint[], integer[], integer[], bytea[], bytea[],
    boolean) is
    'Stores lane-batches: locks, settles, looks for duplicates, hands out offsets, inserts. Locks: partitions, ascending id; skips what is held, or waits with p_wait. In a REPEATABLE READ or SERIALIZABLE transaction also epochs, for share.';

-- queen_store.append_waiting: append for lanes that were held too often, with a bound on the wait.
-- Called by  PushProcedures.appendWaiting, fire_timers
-- Locks      partitions: one row, waits up to p_lock_timeout_ms; epochs as append
-- Returns    as append; busy for every lane when the wait was over
-- Raises     as append
-- Cost       as append and one subtransaction
create or replace function queen_store.append_waiting(
    p_partition_ids bigint[], p_flush_ids bigint[], p_vouched_from bigint[], p_vouched_to bigint[],
    p_settle_above bigint[], p_segment_lanes integer[], p_segment_counts integer[], p_keys bytea[],
    p_frames bytea[], p_lock_timeout_ms integer)
returns table (
    ordinal integer, verdict text, base_offset bigint, created_at timestamptz, queue_id integer,
    last_offset bigint, duplicate_positions integer[], duplicate_offsets bigint[],
    duplicate_ids uuid[])
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_lock_timeout text := current_setting('lock_timeout');
begin
    begin
        -- A failure takes the setting back with the subtransaction.
        perform set_config('lock_timeout', p_lock_timeout_ms::text, true);
        return query
        select a.ordinal, a.verdict, a.base_offset, a.created_at, a.queue_id, a.last_offset,
            a.duplicate_positions, a.duplicate_offsets, a.duplicate_ids
        from queen_store.append(
            p_partition_ids, p_flush_ids, p_vouched_from, p_vouched_to, p_settle_above,
            p_segment_lanes, p_segment_counts, p_keys, p_frames, true) a;
        perform set_config('lock_timeout', v_lock_timeout, true);
    exception when lock_not_available then
        return query
        select l.ordinal::integer, 'busy', null::bigint, null::timestamptz, null::integer,
            null::bigint, null::integer[], null::bigint[], null::uuid[]
        from unnest(p_partition_ids) with ordinality as l(id, ordinal);
    end;
end
$$;

comment on function queen_store.append_waiting(
    bigint[], bigint[], bigint[], bigint[], bigint[], integer[], integer[], bytea[], bytea[],
    integer) is
    'append that waits for held lanes, but no longer than p_lock_timeout_ms per lane. Locks: partitions: one row, waits up to p_lock_timeout_ms; epochs as append.';

-- queen_store.find_flushes: which lane-batches are stored, for a broker that lost the answer.
-- Called by  append and transact, under the lane locks
-- Locks      none
-- Returns    one row per lane-batch that is stored above its p_settle_above (null = do not look);
--            a negative lane number counts as the positive one; written_by = the transaction
-- Raises     nothing
-- Cost       1 statement; per lane-batch the segments of its lane above p_settle_above
create or replace function queen_store.find_flushes(
    p_partition_ids bigint[], p_flush_ids bigint[], p_settle_above bigint[])
returns table (
    ordinal integer, base_offset bigint, created_at timestamptz, queue_id integer,
    last_offset bigint, written_by xid)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    select i.ordinal::integer, s.base_offset, s.created_at, p.queue_id, p.last_offset, s.xmin
    from unnest(p_partition_ids, p_flush_ids, p_settle_above) with ordinality
        as i (partition_id, flush_id, settle_above, ordinal)
    cross join lateral (
        select s.base_offset, s.created_at, s.xmin
        from queen_store.segments s
        where s.partition_id = abs(i.partition_id)
          and s.base_offset > i.settle_above
          and s.flush_id = i.flush_id
        order by s.base_offset
        limit 1) s
    cross join lateral (
        select p.queue_id, p.last_offset
        from queen_store.partitions p
        where p.id = abs(i.partition_id)
        limit 1) p
    order by i.ordinal;
end
$$;

comment on function queen_store.find_flushes(bigint[], bigint[], bigint[]) is
    'Which lane-batches are stored already, found by their flush ids. Locks: none.';

-- queen_store.find_duplicates: which keys of lane-batches are in their lanes already.
-- Reads the segments within the dedup window that nobody vouched for: those below and those above
-- the vouched range.
-- Called by  append, under the lane locks
-- Locks      none
-- Returns    a row per lane-batch with duplicates, or cold: over 1,000 segments or 100,000 keys to
--            read in this lane, or in the lanes of the call up to it; an original is the lowest
--            offset
-- Raises     nothing
-- Cost       2 statements, 1 more with duplicates; primary keys, then a hash join of keys with keys
create or replace function queen_store.find_duplicates(
    p_partition_ids bigint[], p_bases bigint[], p_vouched_from bigint[], p_vouched_to bigint[],
    -- Start of the lane's dedup window; null = nothing to look for.
    p_since timestamptz[],
    p_segment_lanes integer[], p_befores bigint[], p_keys bytea[])
returns table (
    ordinal integer, verdict text, positions integer[], offsets bigint[], ids uuid[])
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = on
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    -- Segments to read, and by ordinal whether the lane has too many.
    v_lanes integer[];
    v_bases bigint[];
    v_epochs integer[];
    v_messages bigint[];
    v_cold boolean[];
    -- Duplicates.
    v_dup_lanes integer[];
    v_dup_positions integer[];
    v_dup_bases bigint[];
    v_dup_offsets bigint[];
begin
    -- created_at falls with the offset, but no index knows it: the edge, 16 segments down, tells
    -- whether a longer walk can find more within the window.
    select array_agg(f.lane::integer), array_agg(f.base_offset), array_agg(f.epoch),
        array_agg(f.end_offset - f.base_offset + 1)
    into v_lanes, v_bases, v_epochs, v_messages
    from (
        select r.lane, s.epoch, s.base_offset, s.end_offset
        from (
            select l.lane, l.partition_id, l.since, b.low, b.high
            from unnest(p_partition_ids, p_bases, p_vouched_from, p_vouched_to, p_since)
                with ordinality as l(partition_id, base, vouched_from, vouched_to, since, lane)
            -- Above the vouched range, from the segment on that reaches out of it, if one does.
            cross join lateral (
                select coalesce(max(t.base_offset), l.vouched_to + 1) as low
                from (
                    select s.base_offset, s.end_offset
                    from queen_store.segments s
                    where s.partition_id = l.partition_id
                        and s.base_offset <= l.vouched_to
                        and l.vouched_to < l.base - 1
                    order by s.base_offset desc
                    limit 1
                ) t
                where t.end_offset > l.vouched_to
            ) a
            cross join lateral (
                values (a.low, l.base - 1), (0, l.vouched_from - 1)
            ) b(low, high)
            where l.since is not null and b.low <= b.high
            order by l.lane
        ) r
        left join lateral (
            select s.base_offset, s.created_at
            from queen_store.segments s
            where s.partition_id = r.partition_id and s.base_offset between r.low and r.high
            order by s.base_offset desc
            offset 15
            limit 1
        ) e on true
        cross join lateral (
            (select s.epoch, s.base_offset, s.end_offset, s.created_at
            from queen_store.segments s
            where s.partition_id = r.partition_id and s.base_offset between r.low and r.high
            order by s.base_offset desc
            limit 16)
            union all
            (select s.epoch, s.base_offset, s.end_offset, s.created_at
            from queen_store.segments s
            where s.partition_id = r.partition_id
                and s.base_offset between r.low and e.base_offset - 1
                and e.created_at >= r.since
            order by s.base_offset desc
            limit 985)
        ) s
        where s.created_at >= r.since
        order by r.lane
        limit 2001
    ) f;
    if v_lanes is null then
        return;
    end if;

    select array_agg(
        l.since is not null
        and (coalesce(n.segments > 1000 or n.messages > 100000 or n.messages_so_far > 100000, false)
            -- The walk was cut off in this lane or before.
            or (cardinality(v_lanes) > 2000 and l.lane >= v_lanes[2001]))
        order by l.lane)
    into v_cold
    from unnest(p_since) with ordinality as l(since, lane)
    left join (
        select c.*,
            sum(c.messages) filter (where c.segments <= 1000 and c.messages <= 100000)
                over (order by c.lane) as messages_so_far
        from (
            select f.lane, count(*) as segments, sum(f.messages) as messages
            from unnest(v_lanes, v_messages) as f(lane, messages)
            group by f.lane
        ) c
    ) n on n.lane = l.lane;
    return query
    select c.lane::integer, 'cold', null::integer[], null::bigint[], null::uuid[]
    from unnest(v_cold) with ordinality as c(cold, lane)
    where c.cold;

    -- Concatenation detoasts the keys of a segment once, not at every substring.
    select array_agg(d.lane), array_agg(d.position), array_agg(d.base_offset), array_agg(d.offset)
    into v_dup_lanes, v_dup_positions, v_dup_bases, v_dup_offsets
    from (
        select distinct on (w.lane, w.position) w.lane, w.position, s.base_offset, s.offset
        from (
            select k.lane, k.before + k.i as position,
                   substring(k.keys from k.i * 16 + 1 for 16) as key
            from (
                select g.lane, g.before, g.keys,
                       generate_series(0, octet_length(g.keys) / 16 - 1) as i
                from (
                    select unnest(p_segment_lanes) as lane, unnest(p_befores) as before,
                        unnest(p_keys) as keys
                ) g
                where p_since[g.lane] is not null and not v_cold[g.lane]
            ) k
            -- Cuts the keys out before they are hashed, or each would drag its whole batch along.
            offset 0
        ) w
        join (
            select k.lane, k.base_offset, k.base_offset + k.i as offset,
                substring(k.keys from k.i * 16 + 1 for 16) as key
            from (
                select f.lane, g.base_offset, g.keys,
                    generate_series(0, octet_length(g.keys) / 16 - 1) as i
                -- The lanes are locked, so no segment leaves its epoch.
                from unnest(v_lanes, v_bases, v_epochs) as f(lane, base_offset, epoch)
                cross join lateral (
                    select g.base_offset, g.keys || ''::bytea as keys
                    from queen_store.segments g
                    where g.partition_id = p_partition_ids[f.lane] and g.base_offset = f.base_offset
                        and g.epoch = f.epoch
                    offset 0
                ) g
                where not v_cold[f.lane]
            ) k
        ) s on s.lane = w.lane and s.key = w.key
        order by w.lane, w.position, s.offset
    ) d;
    if v_dup_lanes is null then
        return;
    end if;

    return query
    select d.lane, 'duplicate',
        array_agg(d.position order by d.position), array_agg(d.offset order by d.position),
        array_agg(d.id order by d.position)
    from (
        select o.lane, u.position, u.offset, u.id
        from (
            select v.lane, p_partition_ids[v.lane] as partition_id, v.base_offset,
                (select p.log_start from queen_store.partitions p
                    where p.id = p_partition_ids[v.lane]) as log_start,
                array_agg(v.position) as positions, array_agg(v.offset) as offsets
            from unnest(v_dup_lanes, v_dup_positions, v_dup_bases, v_dup_offsets)
                as v(lane, position, base_offset, "offset")
            group by v.lane, v.base_offset
        ) o
        cross join lateral (
            -- What lies before the start of the log is nobody's to read, its promised ids included.
            select queen_store.stored_ids(
                g.partition_id, g.base_offset, g.created_at, g.keys,
                case when g.end_offset >= o.log_start then g.frames end,
                (select array_agg(case when u.offset >= o.log_start then u.offset end)
                    from unnest(o.offsets) u("offset"))) as ids
            from queen_store.segments g
            where g.partition_id = o.partition_id and g.base_offset = o.base_offset
            offset 0
        ) s
        cross join lateral unnest(o.positions, o.offsets, s.ids) as u(position, "offset", id)
    ) d
    group by d.lane;
end
$$;

comment on function queen_store.find_duplicates(
    bigint[], bigint[], bigint[], bigint[], timestamptz[], integer[], bigint[], bytea[]) is
    'Which keys of lane-batches are in their lanes within the dedup window; called under the lane locks. Locks: none.';

-- queen_store.read_keys: a page of a lane's keys, to remember them outside of the lane lock.
-- Called by  PushProcedures, find_originals, replay_dead_letter
-- Locks      none
-- Returns    at most p_limit segments that touch p_from_offset .. p_to_offset, newest first; fewer
--            than p_limit where the range or the time is exhausted
-- Raises     nothing
-- Cost       1 statement, primary key
create or replace function queen_store.read_keys(
    p_partition_id bigint, p_from_offset bigint, p_to_offset bigint, p_since timestamptz,
    p_limit integer)
returns table (base_offset bigint, end_offset bigint, created_at timestamptz, keys bytea)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    -- The time is looked at behind the limit: before it, a page would walk on to the head of the
    -- lane in search of rows that cannot come. A segment has at most 1,000 messages.
    return query
    select s.base_offset, s.end_offset, s.created_at, s.keys
    from (
        select s.base_offset, s.end_offset, s.created_at, s.keys
        from queen_store.segments s
        where s.partition_id = p_partition_id
            and s.base_offset between p_from_offset - 999 and p_to_offset
        order by s.base_offset desc
        limit p_limit
    ) s
    where s.created_at >= p_since and s.end_offset >= p_from_offset;
end
$$;

comment on function queen_store.read_keys(bigint, bigint, bigint, timestamptz, integer) is
    'A page of keys of a lane, newest first, to vouch for duplicates without the lane lock. Locks: none.';

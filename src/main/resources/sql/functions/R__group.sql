-- Groups: registration, and where a lane begins for a group that has no cursor in it yet.

-- queen_store.oldest_writer_session: the transaction that has been open longest of those that may
-- hold messages nobody sees yet. An append locks the lane's row before it stamps created_at, so
-- whoever has stamped but not committed is found here by its lock on the table.
-- Called by  oldest_writer, seek_queue, safe_time
-- Locks      none
-- Returns    no row = no such transaction; one whose start the server hides counts as 60 s old
--            (grant pg_read_all_stats), a prepared one, which has no pid, as begun 10 min before
--            its PREPARE. hidden = the start of this or another such one is hidden
-- Cost       1 statement over the lock table
create or replace function queen_store.oldest_writer_session()
returns table (
    started_at timestamptz, pid integer, application_name text, hidden boolean)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select case when l.pid is null
                    then coalesce(x.prepared, clock_timestamp()) - interval '10 minutes'
                else coalesce(a.xact_start, clock_timestamp() - interval '60 seconds') end
               as started_at,
           l.pid, coalesce(a.application_name, x.gid),
           bool_or(l.pid is not null and a.xact_start is null) over ()
    from pg_locks l
    left join pg_stat_activity a on a.pid = l.pid
    -- A prepared transaction has no pid; the lock on its own number says which one it is.
    left join pg_locks t
        on l.pid is null and t.pid is null and t.locktype = 'transactionid'
       and t.virtualtransaction = l.virtualtransaction
    left join pg_prepared_xacts x on x.transaction = t.transactionid
    where l.locktype = 'relation'
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and l.relation = 'queen_store.partitions'::regclass
      and l.mode in ('RowShareLock', 'RowExclusiveLock')
      and l.granted
    order by started_at
    limit 1;
end
$$;
comment on function queen_store.oldest_writer_session() is
    'The transaction open longest that may hold messages nobody sees yet; no row = none. Locks: none.';

-- queen_store.oldest_writer: when that transaction began.
-- Called by  safe_instant, ReadyProcedures, clean_deleted_queue
-- Locks      none
-- Returns    null = no such transaction
-- Cost       1 statement over the lock table
create or replace function queen_store.oldest_writer()
returns timestamptz
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    return (select w.started_at from queen_store.oldest_writer_session() w);
end
$$;
comment on function queen_store.oldest_writer() is
    'Earliest start of a transaction that holds a row lock on lanes, so may have stamped messages it has not committed; null = none. Locks: none.';

-- queen_store.safe_instant: the instant that start rule "new" means when it is registered now. A
-- message acknowledged later than this call is never skipped by it, unless its transaction had
-- been open for over 10 min; a little too much may be delivered.
-- Called by  register_group, claim_first, seek_queue, update_subscription
-- Locks      none
-- Returns    now, or the start of the oldest writer, at most 10 min back
-- Cost       1 statement over the lock table
create or replace function queen_store.safe_instant()
returns timestamptz
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    -- Read before the locks are: a writer that comes after them stamps later than this.
    v_now timestamptz := clock_timestamp();
begin
    return greatest(least(v_now, queen_store.oldest_writer()), v_now - interval '10 minutes');
end
$$;
comment on function queen_store.safe_instant() is
    'Instant that start rule "new" means now: no message acknowledged later is skipped. Locks: none.';

-- queen_store.register_group: makes the group's row and stores, once, where it begins and whether
-- it conflates. What is stored wins over what this call says, but for a row that was made without
-- a rule.
-- Called by  GroupProcedures, queen.pop
-- Locks      advisory on the name of a new queue and of a new or unregistered group, tried only;
--            queues: a new row; groups: one row, skip locked
-- Returns    one row: ready with what is stored, and how long long polls of the queue hold an
--            under-full batch; busy when another transaction is at it; unknown_queue. p_rule null
--            only makes the row
-- Cost       1 statement for a known group; 4 for a new one
create or replace function queen_store.register_group(
    p_tenant_id uuid, p_queue text, p_group text, p_rule text, p_at timestamptz,
    p_create_queue boolean, p_conflation boolean default false)
returns table (
    verdict text, queue_id integer, group_id integer, generation integer, start_rule text,
    start_at timestamptz, conflation boolean, min_pop_wait_ms integer)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_queue_id integer;
    v_group queen_store.groups%rowtype;
    v_found text;
    v_rule text := case when p_group = '__QUEUE_MODE__' then 'all'
                        when p_rule = 'new' then 'instant' else p_rule end;
    -- An instant to come means now: what is stored until then is not to be skipped.
    v_now boolean := p_rule = 'new' or p_at > clock_timestamp();
    v_at timestamptz := case when v_rule = 'instant' then p_at end;
    v_conflation boolean := case
        when v_rule is not null then p_conflation and p_group <> '__QUEUE_MODE__' end;
begin
    select q.id into v_queue_id
    from queen_store.queues q
    where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null;
    if v_queue_id is null then
        if not p_create_queue then
            return query select 'unknown_queue', null::integer, null::integer, null::integer,
                                null::text, null::timestamptz, null::boolean, null::integer;
            return;
        end if;
        select e.verdict, e.queue_id into v_found, v_queue_id
        from queen_store.ensure_queue(p_tenant_id, p_queue) e;
        if v_found <> 'ready' then
            return query select 'busy', null::integer, null::integer, null::integer,
                                null::text, null::timestamptz, null::boolean, null::integer;
            return;
        end if;
    end if;

    select g.* into v_group
    from queen_store.groups g
    where g.queue_id = v_queue_id and g.name = p_group;
    if v_group.id is null or (v_group.start_rule is null and v_rule is not null) then
        if not pg_try_advisory_xact_lock(
                queen_store.lock_key('group', v_queue_id::text, p_group)) then
            return query select 'busy', v_queue_id, null::integer, null::integer,
                                null::text, null::timestamptz, null::boolean, null::integer;
            return;
        end if;
        if v_rule = 'instant' and v_now then
            v_at := queen_store.safe_instant();
        end if;
        -- Under the advisory lock nobody else inserts, so this waits for no one.
        insert into queen_store.groups as g (queue_id, name, start_rule, start_at, conflation)
        values (v_queue_id, p_group, v_rule, v_at, v_conflation)
        on conflict (queue_id, name) do nothing;
        select g.* into v_group
        from queen_store.groups g
        where g.queue_id = v_queue_id and g.name = p_group
        for no key update skip locked;
        if not found then
            return query select 'busy', v_queue_id, null::integer, null::integer,
                                null::text, null::timestamptz, null::boolean, null::integer;
            return;
        end if;
        if v_group.start_rule is null and v_rule is not null then
            update queen_store.groups g
            set start_rule = v_rule, start_at = v_at, conflation = v_conflation
            where g.id = v_group.id
            returning g.* into v_group;
        end if;
        if v_group.start_rule is not null then
            perform queen_store.add_counts(
                array[v_queue_id], array[v_group.id], null, null, null, null, null, null, null,
                true);
        end if;
    end if;
    return query select 'ready', v_queue_id, v_group.id, v_group.generation, v_group.start_rule,
                        v_group.start_at, v_group.conflation,
                        (select q.min_pop_wait_ms
                         from queen_store.queues q
                         where q.id = v_queue_id);
end
$$;
comment on function queen_store.register_group(
    uuid, text, text, text, timestamptz, boolean, boolean) is
    'Makes a consumer group and stores, once, where it begins and whether it conflates; never waits. Locks: advisory on the name of a new queue and of a new or unregistered group, tried only; queues: a new row; groups: one row, skip locked.';

-- queen_store.find_before: the last segment that was stored before an instant, of many lanes at
-- once. No index knows created_at, but it never falls as offsets rise, nor as epochs do: the newest
-- epoch in which a lane has an older segment holds the one that is sought, and there it is found by
-- bisection. That goes for what is retained: of an epoch whose lanes were evacuated the dead stay.
-- Called by  start_committed, last_before
-- Locks      none
-- Returns    one row per lane: where that segment ends, and when it was stored; null = none is
-- Cost       1 statement; per lane a probe of each epoch from the newest one down to that which
--            holds the segment, and there as many as halve what the lane has in it, each of them of
--            the index of one epoch
create or replace function queen_store.find_before(
    -- Nothing below p_log_starts or above p_last_offsets is looked at.
    p_partition_ids bigint[], p_log_starts bigint[], p_last_offsets bigint[],
    p_ats timestamptz[])
returns table (ordinal bigint, end_offset bigint, created_at timestamptz)
language plpgsql stable parallel safe
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
begin
    -- end_offset is that of a segment before the instant. From there up to low there is no other,
    -- and above high all are later. The newest one is looked at first: most instants are near it.
    return query
    with recursive step (ordinal, id, at, epoch, end_offset, created_at, low, high, middle) as (
        select i.ordinal, i.id, i.at, f.epoch, f.end_offset, f.created_at, f.end_offset,
               i.last_offset, i.last_offset
        from unnest(p_partition_ids, p_log_starts, p_last_offsets, p_ats)
            with ordinality i (id, log_start, last_offset, at, ordinal)
        left join lateral (
            select e.epoch, s.end_offset, s.created_at
            from (
                select e.epoch
                from queen_store.epochs e
                order by e.epoch desc
                offset 0) e
            cross join lateral (
                select s.end_offset, s.created_at
                from queen_store.segments s
                where s.partition_id = i.id and s.epoch = e.epoch
                  -- A segment has a thousand messages at most.
                  and s.base_offset between i.log_start - 999 and i.last_offset
                  and s.end_offset >= i.log_start
                order by s.base_offset
                limit 1) s
            where s.created_at < i.at
            limit 1) f on true
        union all
        select n.ordinal, n.id, n.at, n.epoch, n.end_offset, n.created_at, n.low, n.high,
               n.low + (n.high - n.low + 1) / 2
        from (
            select t.ordinal, t.id, t.at, t.epoch,
                   case when s.created_at < t.at then s.end_offset else t.end_offset end
                       as end_offset,
                   case when s.created_at < t.at then s.created_at else t.created_at end
                       as created_at,
                   case when s.created_at < t.at then greatest(s.end_offset, t.middle)
                        else t.low end as low,
                   case when s.created_at < t.at then t.high else s.base_offset - 1 end as high
            from step t
            cross join lateral (
                select s.base_offset, s.end_offset, s.created_at
                from queen_store.segments s
                where s.partition_id = t.id and s.epoch = t.epoch and s.base_offset <= t.middle
                order by s.base_offset desc
                limit 1) s
            where t.low < t.high) n
    )
    select t.ordinal, t.end_offset, t.created_at
    from step t
    where t.epoch is null or t.low >= t.high;
end
$$;
comment on function queen_store.find_before(bigint[], bigint[], bigint[], timestamptz[]) is
    'The last segment that was stored before an instant, of many lanes at once. Locks: none.';

-- queen_store.start_committed: last offset that counts as consumed in a lane where the group has no
-- cursor. For an instant that is the last message created before it.
-- Called by  effective_cursor, lanes_with_work, claim_first, seek_lane, find_originals,
--            pending_messages, expire, queen.expiring_in, claim
-- Locks      none
-- Returns    log_start - 1 to last_offset; null without a rule
-- Cost       0 statements for "all" and for lanes quiet since the instant; else that of find_before
create or replace function queen_store.start_committed(
    p_partition_id bigint, p_log_start bigint, p_last_offset bigint, p_last_write_at timestamptz,
    p_rule text, p_at timestamptz)
returns bigint
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
    if p_rule is null then
        return null;
    end if;
    if p_rule = 'all' or p_last_offset < p_log_start then
        return p_log_start - 1;
    end if;
    -- last_write_at is exact to one second.
    if p_last_write_at + interval '1 second' < p_at then
        return p_last_offset;
    end if;
    return greatest(p_log_start - 1, (
        select b.end_offset
        from queen_store.find_before(
            array[p_partition_id], array[p_log_start], array[p_last_offset], array[p_at]) b));
end
$$;
comment on function queen_store.start_committed(bigint, bigint, bigint, timestamptz, text, timestamptz) is
    'Where a group without a cursor begins in a lane: the last offset that counts as consumed. Locks: none.';

-- queen_store.effective_cursor: where a group stands in a lane, cursor row or not.
-- Called by  views of cursors and of lagging lanes, expire, seek_lane, stuck, queen.expiring_in,
--            list_lagging, message_groups, oldest_unread
-- Locks      none
-- Returns    last offset that counts as consumed, at least log_start - 1; null = no such lane or
--            group, or a group that is not registered and has never touched this lane
-- Cost       1 statement of 4 index probes, and start_committed where there is no cursor
create or replace function queen_store.effective_cursor(p_partition_id bigint, p_group_id integer)
returns bigint
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return (
        select case
               when c.generation = g.generation then greatest(c.committed, p.log_start - 1)
               else queen_store.start_committed(
                   p.id, p.log_start, p.last_offset, p.last_write_at,
                   coalesce(g.seek_rule, g.start_rule),
                   case when g.seek_rule is null then g.start_at else g.seek_at end) end
        from (
            select p.id, p.queue_id, p.log_start, p.last_offset, p.last_write_at
            from queen_store.partitions p
            where p.id = p_partition_id
            limit 1) p
        cross join lateral (
            select g.queue_id, g.generation, g.start_rule, g.start_at, g.seek_rule, g.seek_at
            from queen_store.groups g
            where g.id = p_group_id
            limit 1) g
        left join lateral (
            select c.generation, c.committed
            from queen_store.cursors c
            where c.partition_id = p_partition_id and c.group_id = p_group_id
            limit 1) c on true
        where g.queue_id = p.queue_id);
end
$$;
comment on function queen_store.effective_cursor(bigint, integer) is
    'Last offset that counts as consumed by a group in a lane, whether it has a cursor row there or not. Locks: none.';

-- queen_store.last_before: the last message before an instant, of many lanes at once.
-- Called by  lane_places, find_messages
-- Locks      none
-- Returns    one row per lane that exists: the offset that start_committed says, and when the
--            message there was stored; null = nothing retained is that old
-- Cost       1 statement: a probe per lane, and that of find_before where the instant is among what
--            a lane retains
create or replace function queen_store.last_before(
    p_partition_ids bigint[], p_ats timestamptz[])
returns table (ordinal bigint, "offset" bigint, created_at timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    with lane as materialized (
        select i.ordinal, i.id, i.at, p.*,
               case when p.last_offset < p.log_start or p.oldest_live_at >= i.at then 'none'
                    when p.last_created_at < i.at then 'all'
                    else 'some' end as part
        from unnest(p_partition_ids, p_ats) with ordinality i (id, at, ordinal)
        cross join lateral (
            select p.last_offset, p.log_start, p.last_created_at, p.oldest_live_at
            from queen_store.partitions p
            where p.id = i.id
            limit 1) p
    ),
    sought as materialized (
        select array_agg(l.ordinal) as ordinals, array_agg(l.id) as ids,
               array_agg(l.last_offset) as last_offsets, array_agg(l.log_start) as log_starts,
               array_agg(l.at) as ats
        from lane l
        where l.part = 'some'
    )
    select l.ordinal, case l.part when 'all' then l.last_offset else l.log_start - 1 end,
           case l.part when 'all' then l.last_created_at end
    from lane l
    where l.part <> 'some'
    union all
    select s.ordinals[b.ordinal], greatest(b.end_offset, s.log_starts[b.ordinal] - 1),
           case when b.end_offset >= s.log_starts[b.ordinal] then b.created_at end
    from sought s
    cross join lateral queen_store.find_before(s.ids, s.log_starts, s.last_offsets, s.ats) b;
end
$$;
comment on function queen_store.last_before(bigint[], timestamptz[]) is
    'The last message before an instant, of many lanes at once. Locks: none.';

-- queen_store.lane_places: where groups stand in lanes, of many lanes at once: what
-- effective_cursor says of each.
-- Called by  lane_depths, count_lanes, read_messages
-- Locks      none
-- Returns    one row per lane that exists and group of its queue (p_group_id null = all of them); a
--            lane without one has a row whose group_id is null. unread is null where the group has
--            no place. leased = messages under a lease that is live or ran out in the last ten
--            minutes, live = under a live one; touched = the group has a cursor there; is_consumer
--            is false of pops without a group that have never acknowledged anything: a poll that
--            somebody made once holds nothing up
-- Cost       2 statements: a few index probes per lane and 1 per group of it; that of last_before
--            for groups without a cursor that begin at an instant
create or replace function queen_store.lane_places(p_partition_ids bigint[], p_group_id integer)
returns table (
    partition_id bigint, kept bigint, group_id integer, is_unnamed boolean, committed bigint,
    unread bigint, touched boolean, leased bigint, live bigint, is_consumer boolean)
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
    v_now timestamptz := clock_timestamp();
begin
    return query
    with place as materialized (
        select l.*, g.id as group_id, g.name = '__QUEUE_MODE__' as is_unnamed,
               g.name <> '__QUEUE_MODE__' or g.consumed_at is not null as is_consumer, g.rule, g.at,
               c.committed, c.batch_end, c.lease_expires_at
        from (
            select i.id, p.*
            from unnest(p_partition_ids) i (id)
            cross join lateral (
                select p.queue_id, p.last_offset, p.log_start
                from queen_store.partitions p
                where p.id = i.id
                limit 1) p
            offset 0) l
        left join lateral (
            select g.id, g.name, g.generation, g.consumed_at,
                   coalesce(g.seek_rule, g.start_rule) as rule,
                   case when g.seek_rule is null then g.start_at else g.seek_at end as at
            from queen_store.groups g
            where g.queue_id = l.queue_id and (p_group_id is null or g.id = p_group_id)
              and (g.is_known or exists (
                  select from queen_store.cursors c
                  where c.partition_id = l.id and c.group_id = g.id
                    and c.generation = g.generation))
            offset 0) g on true
        left join lateral (
            select c.committed, c.batch_end, c.lease_expires_at
            from (
                select c.generation, c.committed, c.batch_end, c.lease_expires_at
                from queen_store.cursors c
                where c.partition_id = l.id and c.group_id = g.id
                limit 1) c
            where c.generation = g.generation
            offset 0) c on true
    ),
    -- Instants are few: one per group.
    wanted as materialized (
        select array_agg(p.id) as ids, array_agg(p.at) as ats, array_agg(p.group_id) as group_ids
        from place p
        where p.committed is null and p.rule = 'instant' and p.last_offset >= p.log_start
    ),
    begun as materialized (
        select w.ids[b.ordinal] as id, w.group_ids[b.ordinal] as group_id, b."offset"
        from wanted w
        cross join lateral queen_store.last_before(w.ids, w.ats) b
    )
    select p.id, p.last_offset - p.log_start + 1, p.group_id, p.is_unnamed, e.committed,
           p.last_offset - e.committed, p.committed is not null,
           case when p.lease_expires_at > v_now - interval '10 minutes'
                then p.batch_end - p.committed else 0 end,
           case when p.lease_expires_at > v_now then p.batch_end - p.committed else 0 end,
           p.is_consumer
    from place p
    left join begun b on b.id = p.id and b.group_id = p.group_id
    cross join lateral (
        select case when p.committed is not null then greatest(p.committed, p.log_start - 1)
                    when b.id is not null then b."offset"
                    when p.rule is not null then p.log_start - 1 end as committed
        offset 0) e;
end
$$;
comment on function queen_store.lane_places(bigint[], integer) is
    'Where groups stand in lanes, of many lanes at once. Locks: none.';

-- queen_store.mark_consumed: stamps the first acknowledgement a group ever made.
-- Called by  claim_auto, claim_first, ack_batches, ack_messages
-- Locks      groups, skip locked (whoever holds the row stamps it, or the next call does), and only
--            those not stamped yet
-- Returns    groups stamped
-- Cost       1 statement, one index probe per group; 2 at the first time
create or replace function queen_store.mark_consumed(p_group_ids integer[])
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
    v_group_ids integer[];
    v_marked integer := 0;
begin
    -- Nearly always: only the first acknowledgement of a group is one.
    if p_group_ids = '{}' then
        return 0;
    end if;
    select array_agg(i.group_id) into v_group_ids
    from unnest(p_group_ids) i (group_id)
    cross join lateral (
        select g.consumed_at
        from queen_store.groups g
        where g.id = i.group_id
        limit 1) g
    where g.consumed_at is null;
    if v_group_ids is not null then
        update queen_store.groups g
        set consumed_at = clock_timestamp()
        where g.id = any (array(
            select g.id
            from queen_store.groups g
            where g.id = any (v_group_ids) and g.consumed_at is null
            for no key update skip locked));
        get diagnostics v_marked = row_count;
    end if;
    return v_marked;
end
$$;
comment on function queen_store.mark_consumed(integer[]) is
    'Stamps the first acknowledgement of groups; never waits. Locks: groups, skip locked (whoever holds the row stamps it, or the next call does), and only those not stamped yet.';

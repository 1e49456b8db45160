-- For the person on call: which jobs run and who is in the way, and the two things to do about it.

-- queen_store.set_job: pauses a background job on every broker, lets it run again, or makes it due.
-- Called by  OnCallProcedures
-- Locks      jobs: one row; waits
-- Returns    false = there is no such job. p_enabled null = as it is
-- Cost       1 statement
create or replace function queen_store.set_job(
    p_name text, p_enabled boolean, p_run boolean)
returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    update queen_store.jobs j
    set enabled = coalesce(p_enabled, j.enabled),
        next_due_at = case when p_run then clock_timestamp() else j.next_due_at end
    where j.name = p_name;
    return found;
end
$$;
comment on function queen_store.set_job(text, boolean, boolean) is
    'Pauses a background job, lets it run again, or makes it due. Locks: jobs: one row; waits.';

-- queen_store.show_remains: how much of deleted queues, and behind moved or deleted groups, is
-- still to be removed.
-- Called by  show_jobs
-- Locks      none
-- Returns    a JSON object: each number counted to 10,000; deletedAt is when the first of the
--            queues was deleted, null = there is none
-- Cost       3 statements, over at most 10,000 entries of an index each
create or replace function queen_store.show_remains()
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    v_counted_max constant integer := 10000;
    v_queues bigint;
    v_deleted_at timestamptz;
    v_lanes bigint;
    v_groups bigint;
begin
    select count(*), min(q.deleted_at) into v_queues, v_deleted_at
    from (
        select q.deleted_at
        from queen_store.queues q
        where q.deleted_at is not null
        order by q.id
        limit v_counted_max) q;
    select count(*) into v_lanes
    from (
        select
        from queen_store.queues q
        cross join lateral (
            select
            from queen_store.partitions p
            where p.queue_id = q.id
            offset 0) p
        where q.deleted_at is not null
        limit v_counted_max) l;
    select count(*) into v_groups
    from (
        select
        from queen_store.groups g
        where g.swept_generation < g.generation
        limit v_counted_max) g;
    return json_build_object(
        'queues', v_queues, 'partitions', v_lanes, 'groups', v_groups,
        'deletedAt', queen_store.utc_text(v_deleted_at));
end
$$;
comment on function queen_store.show_remains() is
    'How much of deleted queues and behind groups is still to be removed. Locks: none.';

-- queen_store.show_jobs: background jobs and how they went.
-- Called by  SystemReads
-- Locks      none
-- Returns    a JSON object; progress of cleanup as show_remains says, of others null
-- Cost       1 statement over a dozen rows, and show_remains
create or replace function queen_store.show_jobs()
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select json_build_object('jobs', coalesce(json_agg(json_build_object(
                   'name', j.job, 'state', j.state, 'periodMs', j.period_ms,
                   'nextDueAt', queen_store.utc_text(j.next_due_at), 'holder', j.holder,
                   'runs', j.runs, 'failures', j.failures,
                   'lastStartedAt', queen_store.utc_text(j.last_started_at),
                   'lastEndedAt', queen_store.utc_text(j.last_ended_at),
                   'lastDurationMs', j.last_duration_ms, 'lastSteps', j.last_steps,
                   'lastError', j.last_error,
                   'lastErrorAt', queen_store.utc_text(j.last_error_at),
                   'progress', case when j.job = 'cleanup' then queen_store.show_remains() end)
                   order by j.job), '[]'))
        from queen.jobs j);
end
$$;
comment on function queen_store.show_jobs() is
    'Background jobs and how they went. Locks: none.';

-- queen_store.prepared_holders: which prepared transaction is behind a lock without a session.
-- Called by  lane_holders, held_lanes
-- Locks      none
-- Returns    one row per prepared transaction of the server: what pg_locks calls it, which is the
--            session that it had until the server is restarted
-- Cost       1 statement over prepared transactions and the locks of the server
create or replace function queen_store.prepared_holders()
returns table (virtualtransaction text, gid text, prepared timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select l.virtualtransaction, x.gid, x.prepared
    from pg_prepared_xacts x
    join pg_locks l on l.locktype = 'transactionid' and l.transactionid = x.transaction
        and l.mode = 'ExclusiveLock' and l.pid is null;
end
$$;
comment on function queen_store.prepared_holders() is
    'Which prepared transaction is behind a lock without a session. Locks: none.';

-- queen_store.lane_holders: transactions that may hold lanes, so that pushes wait.
-- Called by  show_blocked, end_lane_holder, stuck, storage_gauges; and a view
-- Locks      none
-- Returns    one row per transaction that has written to lanes or locked some, for longer than
--            p_age; pid null = a prepared one, age null = the server hides it. Looks at no lane, so
--            it does not say which: that is what queen.blocked_partitions is for
-- Cost       1 statement over the locks of the server
create or replace function queen_store.lane_holders(p_age interval)
returns table (
    pid integer, application_name text, user_name text, client_addr inet, state text,
    transaction_age interval, last_query text, prepared_transaction text, waiting_pids integer[])
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select l.pid, a.application_name, a.usename::text, a.client_addr, a.state, t.age,
           left(a.query, 1000), x.gid, array(
               select w.pid
               from pg_stat_activity w
               where w.wait_event_type = 'Lock' and l.pid = any (pg_blocking_pids(w.pid))
               order by w.pid)
    from (
        select distinct l.pid, l.virtualtransaction
        from pg_locks l
        where l.locktype = 'relation' and l.granted
          and l.database = (
              select d.oid from pg_database d where d.datname = current_database())
          and l.relation = 'queen_store.partitions'::regclass
          and l.mode in ('RowShareLock', 'RowExclusiveLock')) l
    left join pg_stat_activity a on a.pid = l.pid
    left join queen_store.prepared_holders() x
        on l.pid is null and x.virtualtransaction = l.virtualtransaction
    cross join lateral (
        select clock_timestamp() - coalesce(a.xact_start, x.prepared) as age) t
    where l.pid is distinct from pg_backend_pid()
      and coalesce(t.age >= p_age, true);
end
$$;
comment on function queen_store.lane_holders(interval) is
    'Transactions that may hold lanes, so that pushes wait. Locks: none.';

-- queen_store.held_lanes: which lanes are held. A row lock is not in pg_locks, but a row names the
-- transaction that locked it last, and a running one holds a lock on its number. Who waits for a
-- row holds a lock on its place: where there are too many lanes to look at, these can be told yet.
-- Called by  show_blocked
-- Locks      none
-- Returns    one row per lane, with who waits for it; pid null = held by that prepared transaction.
--            Without p_all only those that a session waits for. Not seen is a row that several
--            transactions lock at once, which the broker's own functions never do
-- Cost       1 statement: the locks of the server, a row per lane waited for; with p_all all lanes
create or replace function queen_store.held_lanes(p_all boolean)
returns table (
    pid integer, prepared_transaction text, tenant_id uuid, queue text, partition text,
    waiting_pids integer[])
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with holder as materialized (
        select l.transactionid, l.pid, x.gid
        from pg_locks l
        left join queen_store.prepared_holders() x
            on l.pid is null and x.virtualtransaction = l.virtualtransaction
        where l.locktype = 'transactionid' and l.mode = 'ExclusiveLock' and l.granted
    ),
    waiting as materialized (
        select format('(%s,%s)', l.page, l.tuple)::tid as place,
               array_agg(l.pid order by l.pid) as pids
        from pg_locks l
        where l.locktype = 'tuple' and l.relation = 'queen_store.partitions'::regclass
          and l.database = (
              select d.oid from pg_database d where d.datname = current_database())
        group by l.page, l.tuple
    ),
    lane as (
        select p.queue_id, p.name, p.xmax, p.ctid as place
        from queen_store.partitions p
        where p_all and p.xmax = any (array(select h.transactionid from holder h))
        union all
        select p.queue_id, p.name, p.xmax, w.place
        from waiting w
        cross join lateral (
            select p.queue_id, p.name, p.xmax
            from queen_store.partitions p
            where p.ctid = w.place
            limit 1) p
        where not p_all
    )
    select h.pid, h.gid, q.tenant_id, q.name, l.name,
           coalesce(w.pids, '{}')
    from lane l
    join holder h on h.transactionid = l.xmax
    join queen_store.queues q on q.id = l.queue_id and q.deleted_at is null
    left join waiting w on w.place = l.place;
end
$$;
comment on function queen_store.held_lanes(boolean) is
    'Which lanes are held by running transactions: all, or those somebody waits for. Locks: none.';

-- queen_store.show_blocked: who holds lanes for longer than a second, and which.
-- Called by  SystemReads
-- Locks      none
-- Returns    a JSON object, the oldest transaction first, with up to a hundred lanes of each;
--            partitionsComplete false = it may hold others
-- Cost       those of lane_holders and held_lanes
create or replace function queen_store.show_blocked()
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_pages_max constant integer := 1000;
    v_lanes_max constant integer := 100;
    v_complete constant boolean := pg_relation_size('queen_store.partitions')
        <= v_pages_max * current_setting('block_size')::bigint;
begin
    return (
        with lane as materialized (
            select l.*, row_number() over (
                       partition by l.pid, l.prepared_transaction
                       order by cardinality(l.waiting_pids) desc, l.tenant_id, l.queue,
                                l.partition) as place
            from queen_store.held_lanes(v_complete) l
        )
        select json_build_object('holders', coalesce(json_agg(json_build_object(
                   'pid', h.pid, 'applicationName', h.application_name, 'user', h.user_name,
                   'clientAddress', h.client_addr, 'state', h.state,
                   'ageSeconds', round(extract(epoch from h.transaction_age), 1),
                   'lastQuery', h.last_query, 'preparedTransaction', h.prepared_transaction,
                   'waitingPids', h.waiting_pids, 'partitions', l.partitions,
                   'partitionsComplete', v_complete and l.lanes <= v_lanes_max)
                   order by h.transaction_age desc nulls first, h.pid), '[]'))
        from queen_store.lane_holders(interval '1 second') h
        cross join lateral (
            select count(*) as lanes, coalesce(json_agg(json_build_object(
                       'queue', l.queue, 'tenant', l.tenant_id, 'partition', l.partition,
                       'waitingPids', l.waiting_pids) order by l.place)
                       filter (where l.place <= v_lanes_max), '[]') as partitions
            from lane l
            where l.pid is not distinct from h.pid
              and l.prepared_transaction is not distinct from h.prepared_transaction) l);
end
$$;
comment on function queen_store.show_blocked() is
    'Who holds lanes for longer than a second, and which. Locks: none.';

-- queen_store.end_lane_holder: ends a session that may hold lanes. Its transaction is undone.
-- Called by  OnCallProcedures
-- Locks      none
-- Returns    false = that session holds none, and nothing was done
-- Raises     insufficient_privilege where the broker's role may not end it
-- Cost       that of lane_holders
create or replace function queen_store.end_lane_holder(p_pid integer)
returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    return exists (
            select from queen_store.lane_holders(interval '0') h where h.pid = p_pid)
        and pg_terminate_backend(p_pid);
end
$$;
comment on function queen_store.end_lane_holder(integer) is
    'Ends a session that may hold lanes; its transaction is undone. Locks: none.';

-- queen_store.epoch_live_bytes: how much of an epoch on disk is what somebody can still get.
-- Called by  queen.epochs
-- Locks      none
-- Returns    bytes of its table, TOAST and index, by the share that a sample of rows has; all of
--            them where it has no rows
-- Cost       those of epoch_size and sample_epoch
create or replace function queen_store.epoch_live_bytes(p_epoch integer)
returns bigint
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select (s.bytes * coalesce(l.live_bytes::numeric / nullif(l.bytes, 0), 1))::bigint
        from queen_store.epoch_size(p_epoch) s
        cross join queen_store.sample_epoch(p_epoch, clock_timestamp()) l);
end
$$;
comment on function queen_store.epoch_live_bytes(integer) is
    'How much of an epoch on disk is what somebody can still get. Locks: none.';

-- queen_store.storage_sample: what lanes have on disk, by a sample of all epochs.
-- Called by  storage_pins
-- Locks      none
-- Returns    one row per epoch and lane met: what the lane may have of the epoch on disk, and what
--            of it is alive; queue_id null = the lane is gone
-- Cost       1 statement: some 64 pages in all, or 4 of each epoch, and two index probes per row
create or replace function queen_store.storage_sample()
returns table (
    epoch integer, partition_id bigint, queue_id integer, bytes bigint, live_bytes bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_pages_max constant integer := 64;
    v_pages_min constant integer := 4;
begin
    return query
    select e.epoch, l.partition_id, l.queue_id, (l.bytes * e.size / l.total)::bigint,
           (l.live_bytes * e.size / l.total)::bigint
    from (
        select e.epoch, s.bytes::numeric as size,
               greatest(v_pages_max / count(*) over (), v_pages_min)::integer as pages
        from queen_store.epochs e
        cross join lateral queen_store.epoch_size(e.epoch) s) e
    cross join lateral (
        select l.partition_id, l.queue_id, l.bytes, l.live_bytes, sum(l.bytes) over () as total
        from queen_store.sample_lanes(e.epoch, e.pages, clock_timestamp()) l) l;
end
$$;
comment on function queen_store.storage_sample() is
    'What lanes have on disk, by a sample of all epochs. Locks: none.';

-- queen_store.storage_pins: the queues, lanes and groups for which most of the log is kept.
-- Called by  show_storage; and a view
-- Locks      none
-- Returns    a row per epoch that has segments, with the bytes that are alive; and p_limit rows of
--            each of the other kinds, those with most bytes first: queue and lane by what a
--            sample of the epochs says they have on disk and alive, group by what it has not
--            consumed of the hundred queues with most, before compression. messages are those kept,
--            or not consumed; since is when the oldest of them was stored, null = not known
-- Cost       2 statements: storage_sample, and the counts of a hundred queues; index probes for
--            what is shown
create or replace function queen_store.storage_pins(p_limit integer)
returns table (
    kind text, queue text, tenant_id uuid, partition text, consumer_group text, bytes bigint,
    messages bigint, since timestamptz, oldest_epoch integer, queue_id integer,
    partition_id bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_queues_max constant integer := 100;
    v_queue_ids integer[];
    v_queue_bytes bigint[];
    v_epochs integer[];
    v_all_epochs integer[];
    v_all_bytes bigint[];
    v_lane_ids bigint[];
    v_lane_bytes bigint[];
    v_lane_epochs integer[];
begin
    with sample as materialized (
        select s.epoch, s.partition_id, s.queue_id, s.live_bytes
        from queen_store.storage_sample() s
    ),
    queue as (
        select s.queue_id, sum(s.live_bytes)::bigint as bytes, min(s.epoch) as epoch
        from sample s
        where s.live_bytes > 0
        group by s.queue_id
        order by sum(s.live_bytes) desc, s.queue_id
        limit v_queues_max
    ),
    lane as (
        select s.partition_id, sum(s.live_bytes)::bigint as bytes, min(s.epoch) as epoch
        from sample s
        where s.live_bytes > 0
        group by s.partition_id
        order by sum(s.live_bytes) desc, s.partition_id
        limit p_limit
    ),
    epoch as (
        select s.epoch, sum(s.live_bytes)::bigint as bytes
        from sample s
        group by s.epoch
    )
    select q.ids, q.bytes, q.epochs, l.ids, l.bytes, l.epochs, e.epochs, e.bytes
    into v_queue_ids, v_queue_bytes, v_epochs, v_lane_ids, v_lane_bytes, v_lane_epochs,
        v_all_epochs, v_all_bytes
    from (
        select array_agg(q.queue_id) as ids, array_agg(q.bytes) as bytes,
               array_agg(q.epoch) as epochs
        from queue q) q
    cross join (
        select array_agg(l.partition_id) as ids, array_agg(l.bytes) as bytes,
               array_agg(l.epoch) as epochs
        from lane l) l
    cross join (
        select array_agg(e.epoch) as epochs, array_agg(e.bytes) as bytes
        from epoch e) e;

    return query
    with told as materialized (
        select t.*
        from queen_store.told_amounts(coalesce(v_queue_ids, '{}')) t
    ),
    kept as materialized (
        select t.queue_id, b.retained_bytes / nullif(t.messages, 0)::numeric as message_bytes
        from told t
        cross join lateral queen_store.stored_bytes(t.queue_id, t.messages) b
        where t.group_id = 0
    ),
    waiting as (
        select t.group_id, t.queue_id, t.pending, (t.pending * k.message_bytes)::bigint as bytes
        from told t
        join kept k on k.queue_id = t.queue_id
        where t.group_id > 0 and t.pending > 0
        order by t.pending * k.message_bytes desc nulls last, t.group_id
        limit p_limit
    )
    select 'epoch', null, null::uuid, null, null, e.bytes, null::bigint, null::timestamptz,
           e.epoch, null::integer, null::bigint
    from unnest(v_all_epochs, v_all_bytes) e (epoch, bytes)
    union all
    select 'queue', q.name, q.tenant_id, null, null, i.bytes, t.messages, null, i.epoch, q.id,
           null
    from unnest(v_queue_ids, v_queue_bytes, v_epochs)
        with ordinality i (queue_id, bytes, epoch, place)
    join queen_store.queues q on q.id = i.queue_id
    left join told t on t.queue_id = q.id and t.group_id = 0
    where i.place <= p_limit
    union all
    select 'partition', q.name, q.tenant_id, p.name, null, i.bytes,
           p.last_offset - p.log_start + 1, p.oldest_live_at, i.epoch, q.id, p.id
    from unnest(v_lane_ids, v_lane_bytes, v_lane_epochs) i (partition_id, bytes, epoch)
    cross join lateral (
        select p.id, p.queue_id, p.name, p.last_offset, p.log_start, p.oldest_live_at
        from queen_store.partitions p
        where p.id = i.partition_id
        limit 1) p
    join queen_store.queues q on q.id = p.queue_id
    union all
    select 'group', q.name, q.tenant_id, null, g.name, w.bytes, w.pending, (
               select min(o.unread_at)
               from queen_store.oldest_lanes o
               where o.group_id = g.id),
           null, q.id, null
    from waiting w
    join queen_store.groups g on g.id = w.group_id
    join queen_store.queues q on q.id = w.queue_id
    order by 1, 6 desc nulls last;
end
$$;
comment on function queen_store.storage_pins(integer) is
    'The queues, lanes and groups for which most of the log is kept. Locks: none.';

-- queen_store.horizon_holder: what keeps vacuum from taking rows away for longest.
-- Called by  show_storage
-- Locks      none
-- Returns    one row: for how many seconds, and a sentence that names it; none = nothing does. Of
--            other roles' sessions only those are seen that the caller may see (pg_read_all_stats)
-- Cost       1 statement over sessions, prepared transactions and replication slots
create or replace function queen_store.horizon_holder()
returns table (age_seconds bigint, holder text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select extract(epoch from clock_timestamp() - h.since)::bigint, h.sentence
    from (
        select format('pid %s (%s), %s', a.pid,
                   coalesce(nullif(a.application_name, ''), 'no application_name'), a.state)
                   as sentence,
               a.xact_start as since, age(a.backend_xmin) as xids
        from pg_stat_activity a
        where a.datname = current_database() and a.pid <> pg_backend_pid()
          and a.backend_xmin is not null and a.backend_type is distinct from 'autovacuum worker'
        union all
        select format('prepared transaction %s', x.gid), x.prepared, age(x.transaction)
        from pg_prepared_xacts x
        where x.database = current_database()
        union all
        -- Since when is not known.
        select format('replication slot %s%s', s.slot_name,
                   case when s.active then '' else ', which nobody reads' end),
               null, greatest(age(s.xmin), age(s.catalog_xmin))
        from pg_replication_slots s
        where coalesce(s.xmin, s.catalog_xmin) is not null) h
    order by h.xids desc, h.since
    limit 1;
end
$$;
comment on function queen_store.horizon_holder() is
    'What keeps vacuum from taking rows away for longest. Locks: none.';

-- queen_store.show_storage: where the space of the log is, and what keeps it.
-- Called by  SystemReads
-- Locks      none
-- Returns    a JSON object: the epochs, oldest first, and their sums; the ten queues, lanes and
--            groups for which most is kept; what holds vacuum up; the orders for space
-- Cost       some 10 statements: those of queen.epochs and storage_pins
create or replace function queen_store.show_storage()
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_pins_max constant integer := 10;
    v_reclaims_max constant integer := 10;
begin
    return (
        with pin as materialized (
            select p.*
            from queen_store.storage_pins(v_pins_max) p
        ),
        epoch as materialized (
            select e.epoch, e.state, e.estimated_segments, e.bytes,
                   -- One without rows has nothing that has expired.
                   least(coalesce(p.bytes, e.bytes), e.bytes) as live_bytes,
                   e.opened_at, e.closed_at, e.waits_for
            from queen.epochs e
            left join pin p on p.kind = 'epoch' and p.oldest_epoch = e.epoch
        )
        select json_build_object(
            'bytes', (select coalesce(sum(e.bytes), 0) from epoch e),
            'liveBytes', (select coalesce(sum(e.live_bytes), 0) from epoch e),
            'expiredBytes', (select coalesce(sum(e.bytes - e.live_bytes), 0) from epoch e),
            'epochs', (
                select coalesce(json_agg(json_build_object(
                           'epoch', e.epoch, 'state', e.state,
                           'estimatedSegments', e.estimated_segments, 'bytes', e.bytes,
                           'liveBytes', e.live_bytes, 'expiredBytes', e.bytes - e.live_bytes,
                           'openedAt', queen_store.utc_text(e.opened_at),
                           'closedAt', queen_store.utc_text(e.closed_at),
                           'ageSeconds', extract(epoch from
                               clock_timestamp() - e.opened_at)::bigint,
                           'waitsFor', e.waits_for) order by e.epoch), '[]')
                from epoch e),
            'queues', (
                select coalesce(json_agg(json_build_object(
                           'queue', p.queue, 'tenant', p.tenant_id, 'messages', p.messages,
                           'liveBytes', p.bytes, 'retainedBytes', b.retained_bytes,
                           'diskBytes', b.disk_bytes, 'oldestEpoch', p.oldest_epoch)
                           order by p.bytes desc, p.queue_id), '[]')
                from pin p
                cross join lateral queen_store.stored_bytes(
                    p.queue_id, coalesce(p.messages, 0)) b
                where p.kind = 'queue'),
            'partitions', (
                select coalesce(json_agg(json_build_object(
                           'queue', p.queue, 'tenant', p.tenant_id, 'partition', p.partition,
                           'messages', p.messages, 'liveBytes', p.bytes,
                           'oldestAt', queen_store.utc_text(p.since),
                           'oldestEpoch', p.oldest_epoch)
                           order by p.bytes desc, p.partition_id), '[]')
                from pin p
                where p.kind = 'partition'),
            'groups', (
                select coalesce(json_agg(json_build_object(
                           'queue', p.queue, 'tenant', p.tenant_id,
                           'consumerGroup', p.consumer_group, 'pending', p.messages,
                           'bytes', p.bytes, 'oldestAt', queen_store.utc_text(p.since))
                           order by p.bytes desc nulls last, p.queue, p.consumer_group), '[]')
                from pin p
                where p.kind = 'group'),
            'horizon', (
                select json_build_object('ageSeconds', h.age_seconds, 'holder', h.holder)
                from queen_store.horizon_holder() h),
            'reclaims', (
                select coalesce(json_agg(json_build_object(
                           'reclaim', r.reclaim, 'state', r.state, 'askedBytes', r.asked_bytes,
                           'freedBytes', r.freed_bytes, 'waitSeconds', r.patience_seconds,
                           'orderedAt', queen_store.utc_text(r.ordered_at),
                           'endedAt', queen_store.utc_text(r.ended_at),
                           'lastEvent', r.last_event, 'stoppedBy', r.stopped_by)
                           order by r.reclaim desc), '[]')
                from (
                    select r.*
                    from queen.reclaims r
                    order by r.reclaim desc
                    limit v_reclaims_max) r)));
end
$$;
comment on function queen_store.show_storage() is
    'Where the space of the log is, and what keeps it. Locks: none.';

-- queen_store.show_purges: which tenants are being erased.
-- Called by  SystemReads
-- Locks      none
-- Returns    a JSON object
-- Cost       that of queen.purges
create or replace function queen_store.show_purges()
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select json_build_object('purges', coalesce(json_agg(json_build_object(
                   'tenant', p.tenant_id, 'state', p.state, 'phase', p.left_over,
                   'queues', p.queues_removed, 'timers', p.timers_removed,
                   'segments', p.segments_removed, 'otherRows', p.other_rows_removed,
                   'orderedAt', queen_store.utc_text(p.ordered_at),
                   'workedAt', queen_store.utc_text(p.worked_at),
                   'doneAt', queen_store.utc_text(p.done_at))
                   order by p.ordered_at, p.tenant_id), '[]'))
        from queen.purges p);
end
$$;
comment on function queen_store.show_purges() is
    'Which tenants are being erased. Locks: none.';

-- queen_store.read_cell: how much there is in all, as told.
-- Called by  SystemReads
-- Locks      none
-- Returns    one row
-- Cost       1 statement over the counts of all queues
create or replace function queen_store.read_cell()
returns table (queues bigint, lanes bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select count(*), coalesce(sum(c.lanes), 0)::bigint
    from queen_store.counts c
    join queen_store.queues q on q.id = c.queue_id and q.deleted_at is null
    where c.group_id = 0;
end
$$;
comment on function queen_store.read_cell() is
    'How much there is in all, as told. Locks: none.';

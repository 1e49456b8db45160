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

-- queen_store.show_jobs: background jobs and how they went.
-- Called by  SystemReads
-- Locks      none
-- Returns    a JSON object
-- Cost       1 statement over a dozen rows
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
                   'lastErrorAt', queen_store.utc_text(j.last_error_at)) order by j.job), '[]'))
        from queen.jobs j);
end
$$;
comment on function queen_store.show_jobs() is
    'Background jobs and how they went. Locks: none.';

-- queen_store.lane_holders: transactions that may hold lanes, so that pushes wait.
-- Called by  show_blocked, end_lane_holder; and a view
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
    -- A prepared transaction has the number -1/<xid> instead of a session.
    left join pg_prepared_xacts x
        on l.pid is null and l.virtualtransaction = '-1/' || x.transaction::text
    cross join lateral (
        select clock_timestamp() - coalesce(a.xact_start, x.prepared) as age) t
    where l.pid is distinct from pg_backend_pid()
      and coalesce(t.age >= p_age, true);
end
$$;
comment on function queen_store.lane_holders(interval) is
    'Transactions that may hold lanes, so that pushes wait. Locks: none.';

-- queen_store.show_blocked: who holds lanes for longer than a second.
-- Called by  SystemReads
-- Locks      none
-- Returns    a JSON object, the oldest transaction first
-- Cost       that of lane_holders
create or replace function queen_store.show_blocked()
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select json_build_object('holders', coalesce(json_agg(json_build_object(
                   'pid', h.pid, 'applicationName', h.application_name, 'user', h.user_name,
                   'clientAddress', h.client_addr, 'state', h.state,
                   'ageSeconds', round(extract(epoch from h.transaction_age), 1),
                   'lastQuery', h.last_query, 'preparedTransaction', h.prepared_transaction,
                   'waitingPids', h.waiting_pids)
                   order by h.transaction_age desc nulls first, h.pid), '[]'))
        from queen_store.lane_holders(interval '1 second') h);
end
$$;
comment on function queen_store.show_blocked() is
    'Who holds lanes for longer than a second. Locks: none.';

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

-- queen_store.show_storage: where the space of the log is, and what keeps it.
-- Called by  SystemReads
-- Locks      none
-- Returns    a JSON object: the epochs, oldest first, and the ten queues with most in them, before
--            compression
-- Cost       2 statements: that of queen.epochs, and the rows of queue_epochs
create or replace function queen_store.show_storage()
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queues_max constant integer := 10;
begin
    return json_build_object(
        'epochs', (
            select coalesce(json_agg(json_build_object(
                       'epoch', e.epoch, 'state', e.state,
                       'estimatedSegments', e.estimated_segments, 'bytes', e.bytes,
                       'openedAt', queen_store.utc_text(e.opened_at),
                       'closedAt', queen_store.utc_text(e.closed_at),
                       'waitsFor', e.waits_for) order by e.epoch), '[]')
            from queen.epochs e),
        'queues', (
            select coalesce(json_agg(json_build_object(
                       'queue', q.name, 'tenant', q.tenant_id, 'messages', b.messages,
                       'bytes', b.bytes, 'oldestEpoch', b.oldest)
                       order by b.bytes desc, b.queue_id), '[]')
            from (
                select b.queue_id, sum(b.messages) as messages, sum(b.bytes) as bytes,
                       min(b.epoch) as oldest
                from queen_store.queue_epochs b
                group by b.queue_id
                order by sum(b.bytes) desc, b.queue_id
                limit v_queues_max) b
            join queen_store.queues q on q.id = b.queue_id));
end
$$;
comment on function queen_store.show_storage() is
    'Where the space of the log is, and what keeps it. Locks: none.';

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

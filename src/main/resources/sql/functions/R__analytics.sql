-- What has been going on, as brokers report it: minute by minute and queue by queue, and no row
-- where nothing was. It is for people who look back; what a crash takes away of it is gone.

-- queen_store.bucket_at: the beginning of the bucket of so many minutes that a point in time is in.
-- Called by  add_buckets, read_buckets, read_parked, read_samples, show_retention, show_volume,
--            read_overview, show_queue_ops, show_workload, show_system_metrics, queue_rates
-- Locks      none
-- Returns    buckets of all widths are counted from the same moment, so that wide ones end where
--            narrow ones do
-- Cost       none
create or replace function queen_store.bucket_at(p_minutes integer, p_at timestamptz)
returns timestamptz
language sql immutable parallel safe
return date_bin(make_interval(mins => p_minutes), p_at, timestamptz '2000-01-01 00:00:00+00');
comment on function queen_store.bucket_at(integer, timestamptz) is
    'The beginning of the bucket that a point in time is in. Locks: none.';

-- queen_store.add_buckets: adds what happened to queues at a point in time, to the buckets of all
-- widths.
-- Called by  report_queues, fold_counts
-- Locks      queue_buckets, by key; totals: the row; waits
-- Returns    nothing
-- Cost       2 statements: 3 rows per queue, and the row of totals where messages were stored,
--            given up or acknowledged (p_acked: of all queues, and for the totals alone). An array
--            may be null: nothing of that kind happened
create or replace function queen_store.add_buckets(
    p_at timestamptz, p_queue_ids integer[], p_push_requests bigint[], p_push_messages bigint[],
    p_pops bigint[], p_pop_messages bigint[], p_empty_pops bigint[], p_ack_requests bigint[],
    p_acks bigint[], p_failed_acks bigint[], p_conflated bigint[], p_transactions bigint[],
    p_lanes_made bigint[], p_lanes_removed bigint[], p_dead_letters bigint[],
    p_lag_ms_sum bigint[], p_lag_ms_max bigint[], p_acked bigint default 0)
returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_messages bigint;
    v_dead_letters bigint;
begin
    insert into queen_store.queue_buckets as b (
        queue_id, minutes, bucket, push_requests, push_messages, pops, pop_messages, empty_pops,
        ack_requests, acks, failed_acks, conflated, transactions, lanes_made, lanes_removed,
        dead_letters, lag_ms_sum, lag_ms_max)
    select i.queue_id, w.minutes, queen_store.bucket_at(w.minutes, p_at),
           coalesce(i.push_requests, 0), coalesce(i.push_messages, 0), coalesce(i.pops, 0),
           coalesce(i.pop_messages, 0), coalesce(i.empty_pops, 0), coalesce(i.ack_requests, 0),
           coalesce(i.acks, 0), coalesce(i.failed_acks, 0), coalesce(i.conflated, 0),
           coalesce(i.transactions, 0), coalesce(i.lanes_made, 0), coalesce(i.lanes_removed, 0),
           coalesce(i.dead_letters, 0), coalesce(i.lag_ms_sum, 0), coalesce(i.lag_ms_max, 0)
    from unnest(p_queue_ids, p_push_requests, p_push_messages, p_pops, p_pop_messages,
                p_empty_pops, p_ack_requests, p_acks, p_failed_acks, p_conflated, p_transactions,
                p_lanes_made, p_lanes_removed, p_dead_letters, p_lag_ms_sum, p_lag_ms_max)
        i (queue_id, push_requests, push_messages, pops, pop_messages, empty_pops, ack_requests,
           acks, failed_acks, conflated, transactions, lanes_made, lanes_removed, dead_letters,
           lag_ms_sum, lag_ms_max)
    cross join (values (1), (15), (360)) w (minutes)
    order by i.queue_id, w.minutes
    on conflict (queue_id, minutes, bucket) do update
    set push_requests = b.push_requests + excluded.push_requests,
        push_messages = b.push_messages + excluded.push_messages,
        pops = b.pops + excluded.pops,
        pop_messages = b.pop_messages + excluded.pop_messages,
        empty_pops = b.empty_pops + excluded.empty_pops,
        ack_requests = b.ack_requests + excluded.ack_requests,
        acks = b.acks + excluded.acks,
        failed_acks = b.failed_acks + excluded.failed_acks,
        conflated = b.conflated + excluded.conflated,
        transactions = b.transactions + excluded.transactions,
        lanes_made = b.lanes_made + excluded.lanes_made,
        lanes_removed = b.lanes_removed + excluded.lanes_removed,
        dead_letters = b.dead_letters + excluded.dead_letters,
        lag_ms_sum = b.lag_ms_sum + excluded.lag_ms_sum,
        lag_ms_max = greatest(b.lag_ms_max, excluded.lag_ms_max);
    v_messages := (select coalesce(sum(m), 0) from unnest(p_push_messages) m);
    v_dead_letters := (select coalesce(sum(m), 0) from unnest(p_dead_letters) m);
    if v_messages <> 0 or v_dead_letters <> 0 or p_acked <> 0 then
        update queen_store.totals t
        set push_messages = t.push_messages + v_messages,
            acked = t.acked + p_acked,
            dead_letters = t.dead_letters + v_dead_letters;
    end if;
end
$$;
comment on function queen_store.add_buckets(
    timestamptz, integer[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[],
    bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint) is
    'Adds what happened to queues to the buckets of all widths. Locks: queue_buckets, by key; totals: the row; waits.';

-- queen_store.register_broker: notes that a broker has begun to report.
-- Called by  ReportProcedures
-- Locks      none: brokers: a new row
-- Returns    its number
-- Cost       1 statement
create or replace function queen_store.register_broker(
    p_name text, p_port integer, p_version text)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id integer;
begin
    insert into queen_store.brokers (name, port, version, started_at)
    values (p_name, p_port, p_version, clock_timestamp())
    returning id into v_id;
    return v_id;
end
$$;
comment on function queen_store.register_broker(text, integer, text) is
    'Notes that a broker has begun to report. Locks: none: brokers: a new row.';

-- queen_store.report_broker: how a broker fares, and at which queues the number of its parked pops
-- has changed; of what it told of these before, and what was over two days ago, it goes. Commits
-- without a flush: called by brokers in autocommit only.
-- Called by  ReportProcedures
-- Locks      queue_parked: rows of this broker; totals: the row; waits
-- Returns    false = nobody knows that broker, and nothing was done: it registers again
-- Cost       4 statements: one row, one per change and an index range of old ones for each, and the
--            row of totals if anything was done
create or replace function queen_store.report_broker(
    p_broker_id integer, p_span_ms bigint, p_push_requests bigint, p_push_messages bigint,
    p_pop_requests bigint, p_pop_messages bigint, p_ack_requests bigint, p_ack_messages bigint,
    p_transactions bigint, p_database_errors bigint, p_ack_failed bigint, p_lag_ms_sum bigint,
    p_lag_ms_max bigint, p_parked integer, p_tick_lag_us bigint, p_tick_lag_us_max bigint,
    p_cpu_user_us bigint, p_cpu_system_us bigint, p_resident_bytes bigint, p_pool_size integer,
    p_pool_active integer, p_pool_idle integer, p_pool_waiting integer,
    p_parked_queue_ids integer[], p_parked_numbers integer[])
returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_now timestamptz := clock_timestamp();
begin
    if not exists (select from queen_store.brokers b where b.id = p_broker_id) then
        return false;
    end if;
    insert into queen_store.broker_samples (
        sampled_at, broker_id, span_ms, push_requests, push_messages, pop_requests, pop_messages,
        ack_requests, ack_messages, ack_failed, transactions, database_errors, lag_ms_sum,
        lag_ms_max, parked, tick_lag_us, tick_lag_us_max, cpu_user_us, cpu_system_us,
        resident_bytes, pool_size, pool_active, pool_idle, pool_waiting)
    values (
        v_now, p_broker_id, p_span_ms, p_push_requests, p_push_messages, p_pop_requests,
        p_pop_messages, p_ack_requests, p_ack_messages, p_ack_failed, p_transactions,
        p_database_errors, p_lag_ms_sum, p_lag_ms_max, p_parked, p_tick_lag_us, p_tick_lag_us_max,
        p_cpu_user_us, p_cpu_system_us, p_resident_bytes, p_pool_size, p_pool_active, p_pool_idle,
        p_pool_waiting);
    insert into queen_store.queue_parked (queue_id, broker_id, since, parked)
    select i.queue_id, p_broker_id, v_now, i.parked
    from unnest(p_parked_queue_ids, p_parked_numbers) i (queue_id, parked)
    order by i.queue_id;
    delete from queen_store.queue_parked d
    using unnest(p_parked_queue_ids) i (queue_id)
    cross join lateral (
        select p.since
        from queen_store.queue_parked p
        where p.queue_id = i.queue_id and p.broker_id = p_broker_id
          and p.since < v_now - interval '2 days'
        order by p.since desc
        limit 1) k
    where d.queue_id = i.queue_id and d.broker_id = p_broker_id and d.since < k.since;
    if (p_push_requests | p_pop_requests | p_pop_messages | p_ack_requests | p_ack_messages
            | p_ack_failed | p_transactions | p_database_errors) <> 0 then
        update queen_store.totals t
        set push_requests = t.push_requests + p_push_requests,
            pop_requests = t.pop_requests + p_pop_requests,
            pop_messages = t.pop_messages + p_pop_messages,
            ack_requests = t.ack_requests + p_ack_requests,
            ack_messages = t.ack_messages + p_ack_messages,
            ack_failed = t.ack_failed + p_ack_failed,
            transactions = t.transactions + p_transactions,
            database_errors = t.database_errors + p_database_errors;
    end if;
    perform set_config('synchronous_commit', 'off', true);
    return true;
end
$$;
comment on function queen_store.report_broker(
    integer, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint,
    bigint, bigint, integer, bigint, bigint, bigint, bigint, bigint, integer, integer, integer,
    integer, integer[], integer[]) is
    'How a broker fares, and at which queues the number of its parked pops has changed. Locks: queue_parked: rows of this broker; totals: the row; waits.';

-- queen_store.report_queues: what clients of a broker did to queues in the time that has just
-- passed. What it stored comes from the counts. Commits without a flush: called by brokers in
-- autocommit only.
-- Called by  ReportProcedures
-- Locks      queue_buckets, by key; waits
-- Returns    nothing
-- Cost       that of add_buckets
create or replace function queen_store.report_queues(
    p_span_ms bigint, p_queue_ids integer[], p_push_requests bigint[], p_pops bigint[],
    p_pop_messages bigint[], p_empty_pops bigint[], p_ack_requests bigint[], p_acks bigint[],
    p_failed_acks bigint[], p_conflated bigint[], p_transactions bigint[],
    p_lag_ms_sum bigint[], p_lag_ms_max bigint[])
returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    -- In the middle of that time: a report at the beginning of a minute is of the one before.
    perform queen_store.add_buckets(
        clock_timestamp() - p_span_ms * interval '0.5 ms', p_queue_ids, p_push_requests, null,
        p_pops, p_pop_messages, p_empty_pops, p_ack_requests, p_acks, p_failed_acks, p_conflated,
        p_transactions, null, null, null, p_lag_ms_sum, p_lag_ms_max);
    perform set_config('synchronous_commit', 'off', true);
end
$$;
comment on function queen_store.report_queues(
    bigint, integer[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[],
    bigint[], bigint[], bigint[], bigint[]) is
    'What clients of a broker did to queues in the time that has just passed. Locks: queue_buckets, by key; waits.';

-- queen_store.old_buckets: which buckets are over, by width.
-- Called by  has_old_buckets, sweep_buckets
-- Locks      none
-- Returns    three rows
-- Cost       none
create or replace function queen_store.old_buckets(p_before timestamptz)
returns table (minutes integer, before timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
begin
    return query
    values (1, greatest(p_before, v_now - interval '2 days')),
           (15, greatest(p_before, v_now - interval '14 days')),
           (360, p_before);
end
$$;
comment on function queen_store.old_buckets(timestamptz) is
    'Which buckets are over, by width. Locks: none.';

-- queen_store.has_old_buckets: whether some of what was reported is over.
-- Called by  StorageProcedures
-- Locks      none
-- Returns    p_before = nothing older is kept
-- Cost       5 index probes
create or replace function queen_store.has_old_buckets(p_before timestamptz)
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
    return exists (
            select
            from queen_store.old_buckets(p_before) o
            cross join lateral (
                select
                from queen_store.queue_buckets b
                where b.minutes = o.minutes and b.bucket < o.before
                limit 1) b)
        or exists (
            select from queen_store.broker_samples s where s.sampled_at < p_before);
end
$$;
comment on function queen_store.has_old_buckets(timestamptz) is
    'Whether some of what was reported is over. Locks: none.';

-- queen_store.sweep_buckets: removes what was reported and is over, and brokers that are gone.
-- Commits without a flush, for what is lost is done again: called by brokers in autocommit only.
-- Called by  StorageProcedures
-- Locks      queue_buckets, skip locked; broker_samples, skip locked; queue_parked, skip locked;
--            brokers: rows that nobody changes any more
-- Returns    rows of one kind removed; fewer than p_limit = that was all
-- Cost       5 statements, index ranges of at most p_limit rows, and the brokers
create or replace function queen_store.sweep_buckets(p_before timestamptz, p_limit integer)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_buckets integer;
    v_samples integer;
    v_parked integer;
    v_gone integer[];
begin
    delete from queen_store.queue_buckets d
    where d.ctid = any (array(
        select b.ctid
        from queen_store.old_buckets(p_before) o
        cross join lateral (
            select b.ctid
            from queen_store.queue_buckets b
            where b.minutes = o.minutes and b.bucket < o.before
            order by b.bucket
            limit p_limit
            for update skip locked) b
        limit p_limit));
    get diagnostics v_buckets = row_count;
    delete from queen_store.broker_samples d
    where d.ctid = any (array(
        select s.ctid
        from queen_store.broker_samples s
        where s.sampled_at < p_before
        order by s.sampled_at
        limit p_limit
        for update skip locked));
    get diagnostics v_samples = row_count;
    v_gone := array(
        select b.id
        from queen_store.brokers b
        where b.started_at < p_before
          and not exists (
              select from queen_store.broker_samples s where s.broker_id = b.id));
    delete from queen_store.queue_parked d
    where d.ctid = any (array(
        select p.ctid
        from queen_store.queue_parked p
        where p.broker_id = any (v_gone)
        limit p_limit
        for update skip locked));
    get diagnostics v_parked = row_count;
    delete from queen_store.brokers d
    where d.id = any (v_gone)
      and not exists (select from queen_store.queue_parked p where p.broker_id = d.id);
    perform set_config('synchronous_commit', 'off', true);
    return greatest(v_buckets, v_samples, v_parked);
end
$$;
comment on function queen_store.sweep_buckets(timestamptz, integer) is
    'Removes what was reported and is over. Locks: queue_buckets, skip locked; broker_samples, skip locked; queue_parked, skip locked; brokers: rows that nobody changes any more.';

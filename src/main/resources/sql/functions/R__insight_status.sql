-- Looking back: what went on in a time, from the buckets and samples that brokers report. Answers
-- are JSON as the routes give it: they are made for people, some a minute, and every field of them
-- is a sum or a gauge of one query.

-- queen_store.utc_text: a point in time as answers spell it, milliseconds included.
-- Called by  show_brokers, show_volume, show_server, show_partition_liveness,
--            show_dead_letter_signatures, time_range, show_jobs, show_remains, show_storage,
--            show_purges
-- Locks      none
-- Returns    text; null for null
-- Cost       none
create or replace function queen_store.utc_text(p_at timestamptz)
returns text
language sql stable parallel safe
return to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
comment on function queen_store.utc_text(timestamptz) is
    'A point in time as answers spell it. Locks: none.';

-- queen_store.queue_uuid: the id of a queue as answers show it.
-- Called by  show_status
-- Locks      none
-- Returns    00000000-0001-8000-8000-<12 hex digits of its number>
-- Cost       none
create or replace function queen_store.queue_uuid(p_queue_id integer)
returns uuid
language sql immutable parallel safe
return ('00000000-0001-8000-8000-' || lpad(to_hex(p_queue_id), 12, '0'))::uuid;
comment on function queen_store.queue_uuid(integer) is
    'The id of a queue as answers show it. Locks: none.';

-- queen_store.bucket_text: the beginning of a bucket as answers spell it.
-- Called by  show_status, show_volume, show_queue_lag, show_queue_ops, show_parked, show_retention,
--            show_workload, show_system_metrics, show_workers
-- Locks      none
-- Returns    text; null for null
-- Cost       none
create or replace function queen_store.bucket_text(p_at timestamptz)
returns text
language sql stable parallel safe
return to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"');
comment on function queen_store.bucket_text(timestamptz) is
    'The beginning of a bucket as answers spell it. Locks: none.';

-- queen_store.time_range: the time that an answer is about.
-- Called by  show_status, show_queue_ops, show_parked, show_retention, show_workload,
--            show_system_metrics
-- Locks      none
-- Returns    {"from":…,"to":…}
-- Cost       none
create or replace function queen_store.time_range(p_from timestamptz, p_to timestamptz)
returns json
language sql stable parallel safe
return json_build_object('from', queen_store.utc_text(p_from), 'to', queen_store.utc_text(p_to));
comment on function queen_store.time_range(timestamptz, timestamptz) is
    'The time that an answer is about. Locks: none.';

-- queen_store.per_second: an amount in a time, per second.
-- Called by  show_status, show_queue_ops, show_workers
-- Locks      none
-- Returns    two decimals; null for null
-- Cost       none
create or replace function queen_store.per_second(p_amount numeric, p_minutes integer)
returns numeric
language sql immutable parallel safe
return trim_scale(round(p_amount / (p_minutes * 60), 2));
comment on function queen_store.per_second(numeric, integer) is
    'An amount in a time, per second. Locks: none.';

-- queen_store.choose_buckets: how wide the buckets of an answer are, and those it is made from. The
-- longer the time the wider; and so wide that buckets of that width are still kept, and that an
-- answer is made of no more than 100,000 rows: those of the queues, and, with p_parked, one for
-- every bucket, queue and broker at which somebody may have waited.
-- Called by  show_status, show_queue_lag, show_queue_ops, show_parked, show_retention,
--            show_workload, show_system_metrics, show_workers
-- Locks      none
-- Returns    one row; p_tenant_id null = of all tenants, null = any for the other filters
-- Cost       1 statement over at most 100,000 queues, and 2 of as many entries of an index or table
--            where the queues are many
create or replace function queen_store.choose_buckets(
    p_tenant_id uuid, p_queue text, p_namespace text, p_task text, p_from timestamptz,
    p_to timestamptz, p_parked boolean)
returns table (minutes integer, stored integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_rows_max constant integer := 100000;
    v_now timestamptz := clock_timestamp();
    v_length interval := p_to - p_from;
    v_spans numeric := extract(epoch from v_length) / 60;
    v_queues bigint;
    v_parked bigint := 0;
begin
    select count(*) into v_queues
    from (
        select
        from queen_store.queues q
        where q.deleted_at is null
          and (p_tenant_id is null or q.tenant_id = p_tenant_id)
          and (p_queue is null or q.name = p_queue)
          and (p_namespace is null or q.namespace = p_namespace)
          and (p_task is null or q.task = p_task)
        limit v_rows_max) q;
    if p_parked then
        select least(count(*), v_queues * (select count(*) from queen_store.brokers))
        into v_parked
        from (select from queen_store.queue_parked p limit v_rows_max) p;
    end if;
    return query
    select w.minutes, w.stored
    from (values (1, 1, interval '60 minutes', interval '2 days'),
                 (5, 1, interval '6 hours', interval '2 days'),
                 (15, 15, interval '24 hours', interval '14 days'),
                 (60, 15, interval '7 days', interval '14 days'),
                 (360, 360, interval '1000 years', interval '1000 years'))
        w (minutes, stored, longest, kept)
    where w.minutes = 360
       or v_length <= w.longest and v_now - p_from <= w.kept
          and v_parked * v_spans / w.minutes <= v_rows_max
          -- No more than if something had happened in every queue all the time, or than did in all.
          and (v_queues * v_spans / w.stored <= v_rows_max
               or (select count(*) <= v_rows_max
                   from (
                       select
                       from queen_store.queue_buckets b
                       where b.minutes = w.stored and b.bucket >= p_from and b.bucket <= p_to
                       limit v_rows_max + 1) b))
    order by w.minutes
    limit 1;
end
$$;
comment on function queen_store.choose_buckets(
    uuid, text, text, text, timestamptz, timestamptz, boolean) is
    'How wide the buckets of an answer are, and those it is made from. Locks: none.';

-- queen_store.read_buckets: what happened to queues, by bucket.
-- Called by  show_status, show_volume, show_queue_lag, show_queue_ops, show_workload, show_workers
-- Locks      none
-- Returns    one row per queue and bucket in which something happened. p_minutes and p_stored as
--            choose_buckets says; filters too
-- Cost       1 statement: the queues, and an index range of buckets for each
create or replace function queen_store.read_buckets(
    p_tenant_id uuid, p_queue text, p_namespace text, p_task text, p_from timestamptz,
    p_to timestamptz, p_minutes integer, p_stored integer)
returns table (
    queue_id integer, queue text, namespace text, task text, bucket timestamptz,
    push_requests bigint, push_messages bigint, pops bigint, pop_messages bigint,
    empty_pops bigint, ack_requests bigint, acks bigint, failed_acks bigint, conflated bigint,
    transactions bigint, lanes_made bigint, lanes_removed bigint, dead_letters bigint,
    lag_ms_sum bigint, lag_ms_max bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_mergejoin = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_first timestamptz := queen_store.bucket_at(p_minutes, p_from);
begin
    return query
    select q.id, q.name, q.namespace, q.task, b.wide, b.push_requests, b.push_messages, b.pops,
           b.pop_messages, b.empty_pops, b.ack_requests, b.acks, b.failed_acks, b.conflated,
           b.transactions, b.lanes_made, b.lanes_removed, b.dead_letters, b.lag_ms_sum,
           b.lag_ms_max
    from queen_store.queues q
    cross join lateral (
        select queen_store.bucket_at(p_minutes, b.bucket) as wide,
               sum(b.push_requests)::bigint as push_requests,
               sum(b.push_messages)::bigint as push_messages, sum(b.pops)::bigint as pops,
               sum(b.pop_messages)::bigint as pop_messages,
               sum(b.empty_pops)::bigint as empty_pops,
               sum(b.ack_requests)::bigint as ack_requests, sum(b.acks)::bigint as acks,
               sum(b.failed_acks)::bigint as failed_acks, sum(b.conflated)::bigint as conflated,
               sum(b.transactions)::bigint as transactions,
               sum(b.lanes_made)::bigint as lanes_made,
               sum(b.lanes_removed)::bigint as lanes_removed,
               sum(b.dead_letters)::bigint as dead_letters,
               sum(b.lag_ms_sum)::bigint as lag_ms_sum, max(b.lag_ms_max) as lag_ms_max
        from queen_store.queue_buckets b
        where b.queue_id = q.id and b.minutes = p_stored and b.bucket >= v_first
          and b.bucket <= p_to
        group by 1) b
    where q.deleted_at is null
      and (p_tenant_id is null or q.tenant_id = p_tenant_id)
      and (p_queue is null or q.name = p_queue)
      and (p_namespace is null or q.namespace = p_namespace)
      and (p_task is null or q.task = p_task);
end
$$;
comment on function queen_store.read_buckets(
    uuid, text, text, text, timestamptz, timestamptz, integer, integer) is
    'What happened to queues, by bucket. Locks: none.';

-- queen_store.read_parked: how many pops waited at queues, by bucket and broker: on average over
-- the bucket, as far as it has passed.
-- Called by  show_queue_ops, show_parked, show_workload
-- Locks      none
-- Returns    one row per queue, broker and bucket in which somebody waited. What a broker told
--            holds until it tells something else, or reports no more, in buckets in which it
--            reported at all
-- Cost       1 statement: the samples of the time; per queue and broker what was told in it, and 1
--            index probe of what was told before
create or replace function queen_store.read_parked(
    p_tenant_id uuid, p_queue text, p_namespace text, p_task text, p_from timestamptz,
    p_to timestamptz, p_minutes integer)
returns table (queue_id integer, queue text, broker text, bucket timestamptz, parked numeric)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_mergejoin = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_width interval := make_interval(mins => p_minutes);
    v_first timestamptz := queen_store.bucket_at(p_minutes, p_from);
    v_end timestamptz := queen_store.bucket_at(p_minutes, p_to) + v_width;
    v_now timestamptz := clock_timestamp();
begin
    return query
    with beat as materialized (
        select s.broker_id, queen_store.bucket_at(p_minutes, s.sampled_at) as bucket,
               max(max(s.sampled_at + greatest(
                   s.span_ms * interval '2 ms', interval '2 minutes')))
                   over (partition by s.broker_id) as gone_at
        from queen_store.broker_samples s
        where s.sampled_at >= v_first and s.sampled_at < v_end
        group by 1, 2
    ),
    told as materialized (
        select q.id, q.name, b.broker_id, t.since, t.parked,
               lead(t.since) over (partition by q.id, b.broker_id order by t.since) as until
        from queen_store.queues q
        cross join (select distinct b.broker_id from beat b) b
        cross join lateral (
            (select p.since, p.parked
             from queen_store.queue_parked p
             where p.queue_id = q.id and p.broker_id = b.broker_id and p.since < v_first
             order by p.since desc
             limit 1)
            union all
            (select p.since, p.parked
             from queen_store.queue_parked p
             where p.queue_id = q.id and p.broker_id = b.broker_id and p.since >= v_first
               and p.since < v_end)) t
        where q.deleted_at is null
          and (p_tenant_id is null or q.tenant_id = p_tenant_id)
          and (p_queue is null or q.name = p_queue)
          and (p_namespace is null or q.namespace = p_namespace)
          and (p_task is null or q.task = p_task)
    )
    select t.id, t.name, max(r.name), b.bucket,
           sum(t.parked * extract(epoch from
                   least(t.until, b.bucket + v_width, v_now, b.gone_at)
                       - greatest(t.since, b.bucket)))
               / greatest(extract(epoch from least(b.bucket + v_width, v_now) - b.bucket), 1)
    from told t
    join beat b on b.broker_id = t.broker_id and t.since < b.bucket + v_width
     and coalesce(t.until, 'infinity') > b.bucket
    join queen_store.brokers r on r.id = t.broker_id
    where t.parked > 0 and b.bucket < v_now
    group by t.id, t.name, t.broker_id, b.bucket;
end
$$;
comment on function queen_store.read_parked(
    uuid, text, text, text, timestamptz, timestamptz, integer) is
    'How many pops waited at queues, by bucket and broker. Locks: none.';

-- queen_store.broker_replicas: which processes were one broker after another: those that reported
-- under the same name and port. Who looks at a time sees one broker there, however often it was
-- started.
-- Called by  read_samples, show_system_metrics
-- Locks      none
-- Returns    one row per process; replica_id is the number of the first one. p_broker null = of all
-- Cost       1 statement over the brokers
create or replace function queen_store.broker_replicas(p_broker text)
returns table (
    broker_id integer, replica_id integer, name text, port integer, started_at timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select b.id, f.id, b.name, b.port, b.started_at
    from queen_store.brokers b
    join (
        select b.name, b.port, min(b.id) as id
        from queen_store.brokers b
        group by b.name, b.port) f on f.name = b.name and f.port = b.port
    where p_broker is null or b.name = p_broker;
end
$$;
comment on function queen_store.broker_replicas(text) is
    'Which processes were one broker after another. Locks: none.';

-- queen_store.read_samples: how brokers fared, by bucket and broker.
-- Called by  show_status, show_workers
-- Locks      none
-- Returns    one row per replica and bucket with a sample; p_broker null = of all. Lags are in
--            microseconds, processor time in percent of one processor
-- Cost       1 statement: the samples of the time, and that of broker_replicas
create or replace function queen_store.read_samples(
    p_from timestamptz, p_to timestamptz, p_minutes integer, p_broker text)
returns table (
    replica_id integer, bucket timestamptz, push_requests bigint, push_messages bigint,
    pop_requests bigint, pop_messages bigint, ack_requests bigint, ack_messages bigint,
    ack_failed bigint, transactions bigint, database_errors bigint, lag_ms_sum bigint,
    lag_ms_max bigint, tick_lag_us numeric, tick_lag_us_max bigint, cpu_user numeric,
    cpu_system numeric, resident_bytes numeric, pool_size numeric, pool_active numeric,
    pool_idle numeric, pool_idle_min integer, pool_waiting numeric, pool_waiting_max integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
-- How few groups some months of minutes become is not foreseen: they would be sorted, on disk.
set enable_sort = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    select r.replica_id, queen_store.bucket_at(p_minutes, s.sampled_at),
           sum(s.push_requests)::bigint, sum(s.push_messages)::bigint,
           sum(s.pop_requests)::bigint, sum(s.pop_messages)::bigint,
           sum(s.ack_requests)::bigint, sum(s.ack_messages)::bigint, sum(s.ack_failed)::bigint,
           sum(s.transactions)::bigint, sum(s.database_errors)::bigint,
           sum(s.lag_ms_sum)::bigint, max(s.lag_ms_max), avg(s.tick_lag_us),
           max(s.tick_lag_us_max), sum(s.cpu_user_us) / 10.0 / sum(s.span_ms),
           sum(s.cpu_system_us) / 10.0 / sum(s.span_ms), avg(s.resident_bytes),
           avg(s.pool_size), avg(s.pool_active), avg(s.pool_idle), min(s.pool_idle),
           avg(s.pool_waiting), max(s.pool_waiting)
    from queen_store.broker_samples s
    join queen_store.broker_replicas(p_broker) r on r.broker_id = s.broker_id
    where s.sampled_at >= queen_store.bucket_at(p_minutes, p_from) and s.sampled_at <= p_to
    group by 1, 2;
end
$$;
comment on function queen_store.read_samples(timestamptz, timestamptz, integer, text) is
    'How brokers fared, by bucket and broker. Locks: none.';

-- queen_store.last_samples: brokers that are there, with their last sample.
-- Called by  show_brokers, queen.brokers, queue_rates
-- Locks      none
-- Returns    one row per broker whose last sample is not older than p_age, or than twice the time
--            between its samples, and whose name and port no later process has taken since
-- Cost       1 statement: the samples of that time, at least of two hours where brokers report once
--            an hour, and the brokers
create or replace function queen_store.last_samples(p_age interval)
returns table (
    broker_id integer, name text, port integer, version text, started_at timestamptz,
    sampled_at timestamptz, span_ms bigint, messages bigint, parked integer, tick_lag_us bigint,
    tick_lag_us_max bigint, cpu_user numeric, cpu_system numeric, resident_bytes bigint,
    pool_size integer, pool_active integer, pool_idle integer, pool_waiting integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
begin
    return query
    with newest as materialized (
        select b.id, b.name, b.port, b.version, b.started_at, s.*
        from (
            select distinct on (s.broker_id) s.*
            from queen_store.broker_samples s
            where s.sampled_at > v_now - greatest(p_age, interval '2 hours')
            order by s.broker_id, s.sampled_at desc) s
        join queen_store.brokers b on b.id = s.broker_id
    )
    select l.id, l.name, l.port, l.version, l.started_at, l.sampled_at, l.span_ms,
           l.push_messages + l.pop_messages + l.ack_messages, l.parked, l.tick_lag_us,
           l.tick_lag_us_max, l.cpu_user_us / 10.0 / l.span_ms, l.cpu_system_us / 10.0 / l.span_ms,
           l.resident_bytes, l.pool_size, l.pool_active, l.pool_idle, l.pool_waiting
    from newest l
    where l.sampled_at > v_now - greatest(p_age, l.span_ms * interval '2 ms')
      -- Of a broker that was started again the process of before is no second one.
      and not exists (
          select
          from newest n
          where n.name = l.name and n.port = l.port and n.id > l.id
            and n.started_at >= l.sampled_at);
end
$$;
comment on function queen_store.last_samples(interval) is
    'Brokers that are there, with their last sample. Locks: none.';

-- queen_store.show_brokers: brokers that are there, as dashboards list them.
-- Called by  show_status, show_workers
-- Locks      none
-- Returns    a JSON array; p_broker null = all of them
-- Cost       that of last_samples
create or replace function queen_store.show_brokers(p_age interval, p_broker text)
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select coalesce(json_agg(json_build_object(
                   'hostname', s.name, 'workerId', 0,
                   'avgEventLoopLagMs', trim_scale(round(s.tick_lag_us / 1000.0, 2)),
                   'maxEventLoopLagMs', trim_scale(round(s.tick_lag_us_max / 1000.0, 2)),
                   'freeSlots', s.pool_idle, 'dbConnections', s.pool_active,
                   'jobQueueSize', s.pool_waiting, 'backoffSize', 0,
                   'messagesProcessed', s.messages,
                   'lastSeen', queen_store.utc_text(s.sampled_at))
                   order by s.name, s.broker_id), '[]')
        from queen_store.last_samples(p_age) s
        where p_broker is null or s.name = p_broker);
end
$$;
comment on function queen_store.show_brokers(interval, text) is
    'Brokers that are there, as dashboards list them. Locks: none.';

-- queen_store.show_status: how the whole cluster fares, and has fared.
-- Called by  StatusReads
-- Locks      none
-- Returns    a JSON object. With a filter traffic is that of the queues it lets through; what
--            brokers use of their machines is that of all. Queues: 100 at most, those that hold
--            most. Errors of dead letters: of the newest thousand. Leases: those of now where the
--            queues are told to have at most 10,000 places of groups in lanes, else those that a
--            walk has found; statsAge -1 = there are more. Consumed and acked is what
--            acknowledgements completed ever since. Messages: without a filter total, completed and
--            failed are those of all time
-- Cost       8 statements: those of choose_buckets, read_buckets and read_samples, that of
--            told_amounts over these queues, 1,000 dead letters, 10,000 cursors
create or replace function queen_store.show_status(
    p_from timestamptz, p_to timestamptz, p_queue text, p_namespace text, p_task text)
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set jit = off
as $$
declare
    v_queues_max constant integer := 100;
    v_dead_letters_max constant integer := 1000;
    v_places_max constant integer := 10000;
    v_minutes integer;
    v_stored integer;
    v_throughput json;
    v_points bigint;
    v_errors json;
    v_queues json;
    v_messages json;
    v_leases json;
    v_dead_letters json;
    v_totals queen_store.totals;
    -- Filters: nobody counts for ever what failed in a queue, or what was in one that is gone.
    v_whole constant boolean := coalesce(p_queue, p_namespace, p_task) is null;
    v_age integer;
    v_ids integer[];
    v_consumed_ids integer[];
    v_places bigint;
begin
    select c.minutes, c.stored into v_minutes, v_stored
    from queen_store.choose_buckets(
        null, p_queue, p_namespace, p_task, p_from, p_to, false) c;
    with traffic as materialized (
        select b.bucket, sum(b.push_messages) as pushed, sum(b.acks) as acked,
               sum(b.pop_messages) as popped, sum(b.lag_ms_sum) as lag_ms_sum,
               max(b.lag_ms_max) as lag_ms_max, sum(b.failed_acks) as failed_acks,
               sum(b.dead_letters) as dead_letters
        from queen_store.read_buckets(
            null, p_queue, p_namespace, p_task, p_from, p_to, v_minutes, v_stored) b
        group by b.bucket
    ),
    host as materialized (
        select s.bucket, avg(s.tick_lag_us) as tick_lag_us,
               max(s.tick_lag_us_max) as tick_lag_us_max, min(s.pool_idle_min) as pool_idle_min,
               sum(s.database_errors) as database_errors,
               avg(s.cpu_user) as cpu_user, avg(s.cpu_system) as cpu_system,
               avg(s.resident_bytes) as resident_bytes, sum(s.pool_active) as pool_active,
               sum(s.pool_idle) as pool_idle, sum(s.pool_size) as pool_size
        from queen_store.read_samples(p_from, p_to, v_minutes, null) s
        group by s.bucket
    ),
    point as (
        select coalesce(t.bucket, h.bucket) as at, t.*, h.*
        from traffic t
        full join host h on h.bucket = t.bucket
    )
    select coalesce(json_agg(json_build_object(
               'timestamp', queen_store.bucket_text(p.at),
               'ingested', coalesce(p.pushed, 0), 'processed', coalesce(p.acked, 0),
               'popMessages', coalesce(p.popped, 0),
               'ingestedPerSecond', queen_store.per_second(coalesce(p.pushed, 0), v_minutes),
               'processedPerSecond', queen_store.per_second(coalesce(p.acked, 0), v_minutes),
               'popPerSecond', queen_store.per_second(coalesce(p.popped, 0), v_minutes),
               'avgLagMs', round(p.lag_ms_sum / nullif(p.popped, 0)),
               'maxLagMs', case when p.popped > 0 then p.lag_ms_max end,
               'avgEventLoopLagMs', trim_scale(round(p.tick_lag_us / 1000, 2)),
               'maxEventLoopLagMs', trim_scale(round(p.tick_lag_us_max / 1000.0, 2)),
               'minFreeSlots', p.pool_idle_min, 'dbErrors', p.database_errors,
               'ackFailed', coalesce(p.failed_acks, 0),
               'dlqCount', coalesce(p.dead_letters, 0),
               'queenCpuUserPct', trim_scale(round(p.cpu_user, 2)),
               'queenCpuSysPct', trim_scale(round(p.cpu_system, 2)),
               'queenRssMb', trim_scale(round(p.resident_bytes / 1048576, 2)),
               'dbPoolActive', trim_scale(round(p.pool_active, 2)),
               'dbPoolIdle', trim_scale(round(p.pool_idle, 2)),
               'dbPoolSize', trim_scale(round(p.pool_size, 2))) order by p.at desc), '[]'),
           count(*),
           json_build_object(
               'dbErrors', coalesce(sum(p.database_errors), 0),
               'ackFailed', coalesce(sum(p.failed_acks), 0),
               'dlqMessages', coalesce(sum(p.dead_letters), 0))
    into v_throughput, v_points, v_errors
    from point p;

    v_ids := array(
        select q.id
        from queen_store.queues q
        where q.deleted_at is null
          and (p_queue is null or q.name = p_queue)
          and (p_namespace is null or q.namespace = p_namespace)
          and (p_task is null or q.task = p_task));
    select * into v_totals from queen_store.totals;
    with told as materialized (
        select t.*, row_number() over (
                   partition by t.group_id = 0 order by t.messages desc, t.queue_id) as place
        from queen_store.told_amounts(v_ids) t
    ),
    consumed as (
        select t.queue_id, count(*) as groups
        from told t
        where t.group_id > 0
        group by t.queue_id
    )
    select coalesce(json_agg(json_build_object(
               'id', queen_store.queue_uuid(t.queue_id), 'name', q.name,
               'namespace', q.namespace, 'task', q.task, 'partitions', t.lanes,
               'totalConsumed', t.acked) order by t.place)
               filter (where t.place <= v_queues_max and t.messages > 0), '[]'),
           json_build_object(
               'total', case when v_whole then v_totals.push_messages
                             else coalesce(sum(t.stored), 0) end,
               'pending', coalesce(sum(t.pending - t.processing), 0),
               'processing', coalesce(sum(t.processing), 0),
               'completed', case when v_whole then v_totals.acked
                                 else coalesce(sum(t.acked), 0) end,
               'failed', case when v_whole then v_totals.ack_failed end,
               'deadLetter', coalesce(sum(t.dead_letters), 0),
               'requests', json_build_object(
                   'push', v_totals.push_requests, 'pop', v_totals.pop_requests,
                   'ack', v_totals.ack_requests),
               'batchEfficiency', json_build_object(
                   'push', trim_scale(round(v_totals.push_messages::numeric
                                     / nullif(v_totals.push_requests, 0), 2)),
                   'pop', trim_scale(round(v_totals.pop_messages::numeric
                                    / nullif(v_totals.pop_requests, 0), 2)),
                   'ack', trim_scale(round(v_totals.ack_messages::numeric
                                    / nullif(v_totals.ack_requests, 0), 2)))),
           json_build_object(
               'totalBatchSize', coalesce(sum(t.processing), 0),
               'totalAcked', coalesce(sum(t.acked), 0)),
           coalesce(case when min(t.age_seconds) = -1 then -1 else max(t.age_seconds) end, 0),
           json_build_object('totalMessages', coalesce(sum(t.dead_letters), 0)),
           array_agg(t.queue_id) filter (where t.lanes * c.groups > 0),
           coalesce(sum(t.lanes * c.groups), 0)
    into v_queues, v_messages, v_leases, v_age, v_dead_letters, v_consumed_ids, v_places
    from told t
    join queen_store.queues q on q.id = t.queue_id
    left join consumed c on c.queue_id = t.queue_id
    where t.group_id = 0;

    if v_places <= v_places_max then
        with place as materialized (
            select p.id, c.group_id, c.generation, c.lease_expires_at
            from unnest(v_consumed_ids) i (queue_id)
            cross join lateral (
                select p.id
                from queen_store.partitions p
                where p.queue_id = i.queue_id
                offset 0) p
            left join lateral (
                select c.group_id, c.generation, c.lease_expires_at
                from queen_store.cursors c
                where c.partition_id = p.id
                offset 0) c on true
            -- There may be more than is told.
            limit v_places_max + 1
        )
        select json_build_object(
                   'active', count(g.id),
                   'partitionsWithLeases', count(distinct p.id) filter (where g.id is not null),
                   'totalBatchSize', v_leases -> 'totalBatchSize',
                   'totalAcked', v_leases -> 'totalAcked',
                   'statsAge', case when count(*) > v_places_max then -1 else 0 end)
        into v_leases
        from place p
        left join queen_store.groups g
            on g.id = p.group_id and g.generation = p.generation
           and p.lease_expires_at > clock_timestamp();
    else
        select json_build_object(
                   'active', coalesce(sum(l.leases), 0),
                   'partitionsWithLeases', coalesce(sum(l.leased_lanes), 0),
                   'totalBatchSize', v_leases -> 'totalBatchSize',
                   'totalAcked', v_leases -> 'totalAcked',
                   'statsAge', case when bool_or(l.queue_id is null) then -1 else coalesce((
                       select greatest(0, floor(extract(epoch from
                           clock_timestamp() - j.last_ended_at)))::integer
                       from queen_store.jobs j
                       where j.name = 'recount'), -1) end)
        into v_leases
        from unnest(v_consumed_ids) i (queue_id)
        left join queen_store.liveness l on l.queue_id = i.queue_id;
    end if;

    with newest as materialized (
        select d.partition_id, d.error
        from (
            select d.queue_id, d.partition_id, d.error
            from queen_store.dead_letters d
            order by d.id desc
            limit v_dead_letters_max) d
        where d.queue_id = any (v_ids)
    )
    select json_build_object(
               'totalMessages', v_dead_letters -> 'totalMessages',
               'affectedPartitions', (select count(distinct n.partition_id) from newest n),
               'topErrors', (
                   select coalesce(json_agg(json_build_object('error', e.error, 'count', e.n)
                              order by e.n desc, e.error), '[]')
                   from (
                       select left(n.error, 120) as error, count(*) as n
                       from newest n
                       group by 1
                       order by 2 desc, 1
                       limit 5) e))
    into v_dead_letters;

    return json_build_object(
        'timeRange', queen_store.time_range(p_from, p_to), 'bucketMinutes', v_minutes,
        'pointCount', v_points, 'throughput', v_throughput, 'queues', v_queues,
        'messages', v_messages, 'leases', v_leases, 'deadLetterQueue', v_dead_letters,
        'workers', queen_store.show_brokers(interval '2 minutes', null), 'errors', v_errors,
        'statsAge', v_age);
end
$$;
comment on function queen_store.show_status(timestamptz, timestamptz, text, text, text) is
    'How the whole cluster fares, and has fared. Locks: none.';

-- queen_store.show_volume: how many messages were stored, by minute, hour or day.
-- Called by  StatusReads
-- Locks      none
-- Returns    a JSON object; every bucket of the time, 0 where nothing was. A bucket narrower than
--            those that are kept of that time becomes the next wider one
-- Cost       2 statements: the buckets of the answer, and that of read_buckets
create or replace function queen_store.show_volume(
    p_tenant_id uuid, p_from timestamptz, p_to timestamptz, p_interval text, p_queue text,
    p_namespace text, p_task text)
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set jit = off
as $$
declare
    v_age interval := clock_timestamp() - p_from;
    v_interval text;
    v_minutes integer;
    v_stored integer;
begin
    select w.name, w.minutes, w.stored into v_interval, v_minutes, v_stored
    from (values ('minute', 1, 1, interval '2 days'), ('hour', 60, 15, interval '14 days'),
                 ('day', 1440, 360, null)) w (name, minutes, stored, kept)
    where w.minutes >= case p_interval when 'minute' then 1 when 'day' then 1440 else 60 end
      and (w.kept is null or v_age <= w.kept)
    order by w.minutes
    limit 1;
    return (
        with stored as materialized (
            select b.bucket, sum(b.push_messages) as messages
            from queen_store.read_buckets(
                p_tenant_id, p_queue, p_namespace, p_task, p_from, p_to, v_minutes, v_stored) b
            group by b.bucket
        )
        select json_build_object(
            'dataPoints', coalesce(json_agg(json_build_object(
                'timestamp', queen_store.bucket_text(g.bucket),
                'messages', coalesce(s.messages, 0)) order by g.bucket), '[]'),
            'interval', v_interval, 'from', queen_store.utc_text(p_from),
            'to', queen_store.utc_text(p_to))
        from generate_series(
            queen_store.bucket_at(v_minutes, p_from), p_to, make_interval(mins => v_minutes))
            g (bucket)
        left join stored s on s.bucket = g.bucket);
end
$$;
comment on function queen_store.show_volume(
    uuid, timestamptz, timestamptz, text, text, text, text) is
    'How many messages were stored, by minute, hour or day. Locks: none.';

-- queen_store.queue_rates: what happened to queues in a minute, as metrics show it: the newest
-- minute of the last seven of which all brokers have reported.
-- Called by  TrafficReads
-- Locks      none
-- Returns    at most p_limit names, those with most messages, whoever owns the queues, and one row
--            other for all others, a queue of that name among them; a queue without traffic in
--            these minutes is left out. Lags are null where nothing was delivered
-- Cost       1 statement: the buckets of five minutes, and per queue shown the pops parked at each
--            broker
create or replace function queen_store.queue_rates(p_limit integer)
returns table (
    queue text, age_seconds double precision, push_requests bigint, push_messages bigint,
    pop_messages bigint, empty_pops bigint, acks bigint, failed_acks bigint,
    transactions bigint, conflated bigint, lag_ms_avg double precision, lag_ms_max bigint,
    parked bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_last timestamptz := queen_store.bucket_at(1, v_now) - interval '2 minutes';
begin
    return query
    with newest as materialized (
        select distinct on (b.queue_id) b.*
        from queen_store.queue_buckets b
        where b.minutes = 1 and b.bucket > v_last - interval '5 minutes' and b.bucket <= v_last
        order by b.queue_id, b.bucket desc
    ),
    named as materialized (
        select q.id, q.name, n.*,
               dense_rank() over (order by s.messages desc, q.name) as place
        from newest n
        join queen_store.queues q on q.id = n.queue_id and q.deleted_at is null
        join (
            select q.name, sum(n.push_messages + n.pop_messages) as messages
            from newest n
            join queen_store.queues q on q.id = n.queue_id
            group by q.name) s on s.name = q.name
    ),
    broker as materialized (
        select s.broker_id from queen_store.last_samples(interval '2 minutes') s
    )
    select x.label, extract(epoch from v_now - min(x.bucket))::double precision - 60,
           sum(x.push_requests)::bigint, sum(x.push_messages)::bigint,
           sum(x.pop_messages)::bigint, sum(x.empty_pops)::bigint, sum(x.acks)::bigint,
           sum(x.failed_acks)::bigint, sum(x.transactions)::bigint, sum(x.conflated)::bigint,
           (sum(x.lag_ms_sum) / nullif(sum(x.pop_messages), 0))::double precision,
           max(x.lag_ms_max) filter (where x.pop_messages > 0),
           coalesce(sum(p.parked), 0)::bigint
    from (
        select n.*, case when n.place <= p_limit then n.name else 'other' end as label
        from named n) x
    left join lateral (
        select sum(t.parked) as parked
        from broker b
        cross join lateral (
            select p.parked
            from queen_store.queue_parked p
            where p.queue_id = x.id and p.broker_id = b.broker_id
            order by p.since desc
            limit 1) t) p on true
    group by x.label
    order by max(x.place);
end
$$;
comment on function queen_store.queue_rates(integer) is
    'What happened to queues in a minute, as metrics show it. Locks: none.';

-- queen_store.read_totals: what all brokers have done since the beginning.
-- Called by  TrafficReads
-- Locks      none
-- Returns    one row
-- Cost       1 statement, one row
create or replace function queen_store.read_totals()
returns table (
    push_requests bigint, push_messages bigint, pop_requests bigint, pop_messages bigint,
    ack_requests bigint, ack_messages bigint, ack_failed bigint, transactions bigint,
    database_errors bigint, dead_letters bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select t.push_requests, t.push_messages, t.pop_requests, t.pop_messages, t.ack_requests,
           t.ack_messages, t.ack_failed, t.transactions, t.database_errors, t.dead_letters
    from queen_store.totals t;
end
$$;
comment on function queen_store.read_totals() is
    'What all brokers have done since the beginning. Locks: none.';

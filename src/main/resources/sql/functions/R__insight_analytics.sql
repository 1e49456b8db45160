-- Series over time, and what dashboards compare by them: see R__insight_status for where they come
-- from. Answers are JSON as the routes give it.

-- queen_store.show_queue_lag: how old messages were at delivery.
-- Called by  AnalyticsReads
-- Locks      none
-- Returns    a JSON array, the newest bucket first, at most p_limit points; none where nothing was
--            delivered
-- Cost       that of choose_buckets and read_buckets
create or replace function queen_store.show_queue_lag(
    p_tenant_id uuid, p_from timestamptz, p_to timestamptz, p_queue text, p_limit integer)
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set jit = off
as $$
declare
    v_minutes integer;
    v_stored integer;
begin
    select c.minutes, c.stored into v_minutes, v_stored
    from queen_store.choose_buckets(
        p_tenant_id, p_queue, null, null, p_from, p_to, false) c;
    return (
        select coalesce(json_agg(json_build_object(
                   'queueName', b.queue, 'popCount', b.pops,
                   'avgLagMs', round(b.lag_ms_sum::numeric / b.pop_messages),
                   'maxLagMs', b.lag_ms_max, 'bucketMinutes', v_minutes,
                   'bucketTime', queen_store.bucket_text(b.bucket))
                   order by b.bucket desc, b.queue), '[]')
        from (
            select b.*
            from queen_store.read_buckets(
                p_tenant_id, p_queue, null, null, p_from, p_to, v_minutes, v_stored) b
            where b.pop_messages > 0
            order by b.bucket desc, b.queue
            limit p_limit) b);
end
$$;
comment on function queen_store.show_queue_lag(
    uuid, timestamptz, timestamptz, text, integer) is
    'How old messages were at delivery. Locks: none.';

-- queen_store.show_queue_ops: what happened to queues, by bucket.
-- Called by  AnalyticsReads
-- Locks      none
-- Returns    a JSON object; at most p_limit points, those of the queues with most messages,
--            truncated says whether there are more. partitionCount is that of now, in the bucket
--            of now
-- Cost       those of choose_buckets, read_buckets, read_parked, and told_amounts of these queues
create or replace function queen_store.show_queue_ops(
    p_tenant_id uuid, p_from timestamptz, p_to timestamptz, p_queue text, p_limit integer)
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set jit = off
as $$
declare
    v_minutes integer;
    v_stored integer;
    v_now timestamptz := clock_timestamp();
begin
    select c.minutes, c.stored into v_minutes, v_stored
    from queen_store.choose_buckets(
        p_tenant_id, p_queue, null, null, p_from, p_to, true) c;
    return (
        with parked as materialized (
            select p.queue_id, p.queue, p.bucket, round(sum(p.parked)) as parked
            from queen_store.read_parked(
                p_tenant_id, p_queue, null, null, p_from, p_to, v_minutes) p
            group by p.queue_id, p.queue, p.bucket
        ),
        point as materialized (
            select coalesce(b.queue_id, p.queue_id) as id, coalesce(b.queue, p.queue) as name,
                   coalesce(b.bucket, p.bucket) as at, b.*, p.parked,
                   sum(b.push_messages + b.pop_messages)
                       over (partition by coalesce(b.queue_id, p.queue_id)) as messages
            from queen_store.read_buckets(
                p_tenant_id, p_queue, null, null, p_from, p_to, v_minutes, v_stored) b
            full join parked p on p.queue_id = b.queue_id and p.bucket = b.bucket
        ),
        shown as materialized (
            select p.*
            from point p
            order by p.messages desc nulls last, p.id, p.at desc
            limit p_limit
        )
        select json_build_object(
            'timeRange', queen_store.time_range(p_from, p_to), 'bucketMinutes', v_minutes,
            'series', coalesce(json_agg(json_build_object(
                'bucket', queen_store.bucket_text(s.at), 'queueName', s.name,
                'pushRequests', coalesce(s.push_requests, 0),
                'pushMessages', coalesce(s.push_messages, 0),
                'popMessages', coalesce(s.pop_messages, 0),
                'popEmpty', coalesce(s.empty_pops, 0),
                'ackRequests', coalesce(s.ack_requests, 0),
                'ackSuccess', coalesce(s.acks, 0), 'ackFailed', coalesce(s.failed_acks, 0),
                'transactions', coalesce(s.transactions, 0),
                'partitionsCreated', coalesce(s.lanes_made, 0),
                'partitionsDeleted', coalesce(s.lanes_removed, 0),
                'partitionCount', case
                    when s.at = queen_store.bucket_at(v_minutes, v_now) then t.lanes end,
                'avgLagMs', round(s.lag_ms_sum::numeric / nullif(s.pop_messages, 0)),
                'maxLagMs', case when s.pop_messages > 0 then s.lag_ms_max end,
                'pushPerSecond', queen_store.per_second(coalesce(s.push_messages, 0), v_minutes),
                'popPerSecond', queen_store.per_second(coalesce(s.pop_messages, 0), v_minutes),
                'ackPerSecond', queen_store.per_second(coalesce(s.acks, 0), v_minutes),
                'emptyPerSecond', queen_store.per_second(coalesce(s.empty_pops, 0), v_minutes),
                'parkedCount', s.parked) order by s.at, s.name), '[]'),
            'queues', coalesce(json_agg(distinct s.name), '[]'),
            'truncated', (select count(*) from point) > p_limit)
        from shown s
        left join queen_store.told_amounts(array(select distinct s.id from shown s)) t
            on t.queue_id = s.id and t.group_id = 0);
end
$$;
comment on function queen_store.show_queue_ops(
    uuid, timestamptz, timestamptz, text, integer) is
    'What happened to queues, by bucket. Locks: none.';

-- queen_store.show_parked: how many pops waited at queues, by bucket and broker.
-- Called by  AnalyticsReads
-- Locks      none
-- Returns    a JSON object, the oldest bucket first, at most p_limit points, truncated says whether
--            there are more
-- Cost       those of choose_buckets and read_parked
create or replace function queen_store.show_parked(
    p_tenant_id uuid, p_from timestamptz, p_to timestamptz, p_queue text, p_limit integer)
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set jit = off
as $$
declare
    v_minutes integer;
begin
    select c.minutes into v_minutes
    from queen_store.choose_buckets(
        p_tenant_id, p_queue, null, null, p_from, p_to, true) c;
    return (
        with parked as materialized (
            select p.bucket, p.queue, p.broker, sum(p.parked) as parked
            from queen_store.read_parked(
                p_tenant_id, p_queue, null, null, p_from, p_to, v_minutes) p
            group by p.bucket, p.queue, p.broker
        )
        select json_build_object(
            'timeRange', queen_store.time_range(p_from, p_to), 'bucketMinutes', v_minutes,
            'series', coalesce(json_agg(json_build_object(
                'bucket', queen_store.bucket_text(s.bucket), 'queueName', s.queue,
                'hostname', s.broker, 'workerId', 0, 'parkedCount', trim_scale(round(s.parked, 2)))
                order by s.bucket, s.queue, s.broker), '[]'),
            'replicas', (
                select coalesce(json_agg(json_build_object('hostname', r.broker, 'workerId', 0)
                           order by r.broker), '[]')
                from (select distinct p.broker from parked p) r),
            'truncated', (select count(*) from parked) > p_limit)
        from (
            select p.*
            from parked p
            order by p.bucket, p.queue, p.broker
            limit p_limit) s);
end
$$;
comment on function queen_store.show_parked(uuid, timestamptz, timestamptz, text, integer) is
    'How many pops waited at queues, by bucket and broker. Locks: none.';

-- queen_store.show_retention: what the storage jobs removed, by bucket.
-- Called by  AnalyticsReads
-- Locks      none
-- Returns    a JSON object; p_group_by is namespace, task or queue, null = rows is left out. Queues
--            that are gone count in the sums, and in rows by their name alone
-- Cost       2 statements: the history of the time
create or replace function queen_store.show_retention(
    p_tenant_id uuid, p_from timestamptz, p_to timestamptz, p_queue text, p_group_by text)
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
declare
    v_minutes integer;
begin
    select c.minutes into v_minutes
    from queen_store.choose_buckets(
        p_tenant_id, p_queue, null, null, p_from, p_to, false) c;
    return (
        with gone as materialized (
            select queen_store.bucket_at(v_minutes, h.minute) as bucket, h.queue,
                   sum(h.messages) filter (where h.rule = 'retention') as retention,
                   sum(h.messages) filter (where h.rule = 'completed_retention') as completed,
                   sum(h.messages) filter (where h.rule = 'max_wait_time_eviction') as evicted,
                   sum(h.messages) as messages, sum(h.steps) as steps
            from queen_store.retention_history h
            where h.minute >= queen_store.bucket_at(v_minutes, p_from) and h.minute <= p_to
              and h.tenant_id = p_tenant_id
              and h.rule <> 'partition_cleanup'
              and (p_queue is null or h.queue = p_queue)
            group by 1, 2
        ),
        series as (
            select json_agg(json_build_object(
                       'bucket', queen_store.bucket_text(s.bucket),
                       'retentionMsgs', s.retention, 'completedRetentionMsgs', s.completed,
                       'evictionMsgs', s.evicted, 'totalMsgs', s.messages,
                       'eventCount', s.steps) order by s.bucket) as points
            from (
                select g.bucket, coalesce(sum(g.retention), 0) as retention,
                       coalesce(sum(g.completed), 0) as completed,
                       coalesce(sum(g.evicted), 0) as evicted, sum(g.messages) as messages,
                       sum(g.steps) as steps
                from gone g
                group by g.bucket) s
        ),
        keyed as (
            select json_agg(json_build_object(
                       'key', k.key, 'queues', k.queues, 'retentionMsgs', k.retention,
                       'completedRetentionMsgs', k.completed, 'evictionMsgs', k.evicted,
                       'totalMsgs', k.messages, 'eventCount', k.steps)
                       order by k.messages desc, k.key) as rows
            from (
                select case p_group_by when 'queue' then g.queue when 'task' then q.task
                           else q.namespace end as key,
                       count(distinct g.queue) as queues,
                       coalesce(sum(g.retention), 0) as retention,
                       coalesce(sum(g.completed), 0) as completed,
                       coalesce(sum(g.evicted), 0) as evicted, sum(g.messages) as messages,
                       sum(g.steps) as steps
                from gone g
                left join queen_store.queues q
                    on q.tenant_id = p_tenant_id and q.name = g.queue and q.deleted_at is null
                where p_group_by = 'queue' or q.id is not null
                group by 1
                order by sum(g.messages) desc, 1
                limit 10000) k
        )
        select case
            when p_group_by is null then json_build_object(
                'timeRange', a.range, 'bucketMinutes', v_minutes, 'series', a.series,
                'totals', a.totals)
            else json_build_object(
                'timeRange', a.range, 'bucketMinutes', v_minutes, 'series', a.series,
                'totals', a.totals, 'rows', coalesce((select k.rows from keyed k), '[]')) end
        from (
            select queen_store.time_range(p_from, p_to) as range,
                   coalesce((select s.points from series s), '[]') as series,
                   json_build_object(
                       'retentionMsgs', coalesce(sum(g.retention), 0),
                       'completedRetentionMsgs', coalesce(sum(g.completed), 0),
                       'evictionMsgs', coalesce(sum(g.evicted), 0),
                       'totalMsgs', coalesce(sum(g.messages), 0),
                       'eventCount', coalesce(sum(g.steps), 0)) as totals
            from gone g) a);
end
$$;
comment on function queen_store.show_retention(
    uuid, timestamptz, timestamptz, text, text) is
    'What the storage jobs removed, by bucket. Locks: none.';

-- queen_store.show_workload: what happened to the queues of a tenant, and what they hold, by
-- namespace, task or queue.
-- Called by  AnalyticsReads
-- Locks      none
-- Returns    a JSON object; the 1,000 keys with most messages, or as many as have 100,000 points
--            together, truncated says whether there are more; the row tenant has all of its queues,
--            whatever the filters. Series are aligned to buckets, null where nothing happened
-- Cost       those of choose_buckets, read_buckets and read_parked, and told_counts of its queues
create or replace function queen_store.show_workload(
    p_tenant_id uuid, p_from timestamptz, p_to timestamptz, p_group_by text, p_namespace text,
    p_task text, p_queue text)
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_mergejoin = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
declare
    v_points_max constant integer := 100000;
    v_keys_max integer := 1000;
    v_minutes integer;
    v_stored integer;
    v_ids integer[];
begin
    select c.minutes, c.stored into v_minutes, v_stored
    from queen_store.choose_buckets(
        p_tenant_id, null, null, null, p_from, p_to, true) c;
    v_keys_max := least(v_keys_max, v_points_max / (1 + floor(
        extract(epoch from p_to - p_from) / 60 / v_minutes))::integer);
    v_ids := array(
        select q.id
        from queen_store.queues q
        where q.tenant_id = p_tenant_id and q.deleted_at is null);
    return (
        with axis as materialized (
            select g.bucket
            from generate_series(
                queen_store.bucket_at(v_minutes, p_from), p_to,
                make_interval(mins => v_minutes)) g (bucket)
        ),
        -- Every queue is in the row of its key, if filters let it through, and in that of all,
        -- whose key is empty; others begin with a letter of ours, for a label may be empty, too.
        member as materialized (
            select q.id, k.key, q.namespace, q.task
            from unnest(v_ids) i (id)
            join queen_store.queues q on q.id = i.id
            cross join lateral (
                select '' as key
                union all
                select 'k' || case p_group_by when 'queue' then q.name when 'task' then q.task
                                  else q.namespace end
                where (p_queue is null or q.name = p_queue)
                  and (p_namespace is null or q.namespace = p_namespace)
                  and (p_task is null or q.task = p_task)) k
            -- The row of all is there without any queue, too.
            union all
            select null, '', null, null
        ),
        parked as materialized (
            select p.queue_id, p.bucket, sum(p.parked) as parked
            from queen_store.read_parked(
                p_tenant_id, null, null, null, p_from, p_to, v_minutes) p
            group by p.queue_id, p.bucket
        ),
        bucket as materialized (
            select b.*
            from queen_store.read_buckets(
                p_tenant_id, null, null, null, p_from, p_to, v_minutes, v_stored) b
        ),
        -- A row per queue first, so that what it holds is not counted once for every bucket.
        queue as materialized (
            select i.id, b.*, p.parked, t.pending, t.processing,
                   t.dead_letters as held_dead_letters, t.retained_bytes, t.lanes, g.groups
            from unnest(v_ids) i (id)
            left join (
                select b.queue_id, sum(b.push_messages) as pushed,
                       sum(b.push_requests) as push_requests, sum(b.pop_messages) as popped,
                       sum(b.empty_pops) as empty, sum(b.ack_requests) as ack_requests,
                       sum(b.acks) as acks, sum(b.failed_acks) as failed,
                       sum(b.transactions) as transactions, sum(b.conflated) as conflated,
                       sum(b.lanes_made) as made, sum(b.lanes_removed) as removed,
                       sum(b.lag_ms_sum) as lag, max(b.lag_ms_max) as lag_max
                from bucket b
                group by b.queue_id) b on b.queue_id = i.id
            left join (
                select p.queue_id, sum(p.parked) / (select count(*) from axis) as parked
                from parked p
                group by p.queue_id) p on p.queue_id = i.id
            left join queen_store.told_counts(v_ids) t on t.queue_id = i.id and t.group_id = 0
            left join (
                select g.queue_id, count(*) as groups
                from queen_store.groups g
                where g.queue_id = any (v_ids) and g.is_known
                group by g.queue_id) g on g.queue_id = i.id
        ),
        top as materialized (
            select m.key, row_number() over (
                       order by m.key = '' desc,
                                coalesce(sum(q.pushed), 0) + coalesce(sum(q.popped), 0) desc,
                                m.key) as place
            from member m
            left join queue q on q.id = m.id
            group by m.key
        ),
        point as materialized (
            select m.key, x.bucket, sum(x.push) as push, sum(x.pop) as pop, sum(x.empty) as empty,
                   sum(x.failed) as failed, sum(x.parked) as parked, sum(x.lag) as lag,
                   max(x.lag_max) as lag_max
            from member m
            join top t on t.key = m.key and t.place <= v_keys_max + 1
            join (
                select b.queue_id, b.bucket, b.push_messages as push, b.pop_messages as pop,
                       b.empty_pops as empty, b.failed_acks as failed, null::numeric as parked,
                       b.lag_ms_sum as lag, b.lag_ms_max as lag_max
                from bucket b
                union all
                select p.queue_id, p.bucket, null, null, null, null, p.parked, null, null
                from parked p) x on x.queue_id = m.id
            group by m.key, x.bucket
        ),
        series as materialized (
            select k.key, json_build_object(
                       'push', json_agg(p.push order by a.bucket),
                       'pop', json_agg(p.pop order by a.bucket),
                       'popEmpty', json_agg(p.empty order by a.bucket),
                       'ackFailed', json_agg(p.failed order by a.bucket),
                       'parked', json_agg(trim_scale(round(p.parked, 2)) order by a.bucket),
                       'avgLagMs', json_agg(round(p.lag / nullif(p.pop, 0)) order by a.bucket),
                       'maxLagMs', json_agg(case when p.pop > 0 then p.lag_max end
                                                order by a.bucket)) as series
            from top k
            cross join axis a
            left join point p on p.key = k.key and p.bucket = a.bucket
            where k.place <= v_keys_max + 1
            group by k.key
        ),
        shown as materialized (
            select m.key, json_build_object(
                       'key', case when m.key <> '' then substr(m.key, 2) end,
                       'queues', count(q.id),
                       'namespace', case when p_group_by = 'queue' then max(m.namespace) end,
                       'task', case when p_group_by = 'queue' then max(m.task) end,
                       'window', json_build_object(
                           'pushMessages', coalesce(sum(q.pushed), 0),
                           'pushRequests', coalesce(sum(q.push_requests), 0),
                           'popMessages', coalesce(sum(q.popped), 0),
                           'popEmpty', coalesce(sum(q.empty), 0),
                           'ackRequests', coalesce(sum(q.ack_requests), 0),
                           'ackSuccess', coalesce(sum(q.acks), 0),
                           'ackFailed', coalesce(sum(q.failed), 0),
                           'transactions', coalesce(sum(q.transactions), 0),
                           'conflated', coalesce(sum(q.conflated), 0),
                           'partitionsCreated', coalesce(sum(q.made), 0),
                           'partitionsDeleted', coalesce(sum(q.removed), 0),
                           'parkedAvg', trim_scale(round(coalesce(sum(q.parked), 0), 2)),
                           'avgLagMs', round(sum(q.lag) / nullif(sum(q.popped), 0)),
                           'maxLagMs', max(q.lag_max) filter (where q.popped > 0)),
                       'series', (array_agg(s.series))[1],
                       'now', json_build_object(
                           'pending', coalesce(sum(q.pending - q.processing), 0),
                           'processing', coalesce(sum(q.processing), 0),
                           'deadLetter', coalesce(sum(q.held_dead_letters), 0),
                           'retainedBytes', coalesce(sum(q.retained_bytes), 0),
                           'partitions', coalesce(sum(q.lanes), 0),
                           'groups', coalesce(sum(q.groups), 0),
                           'queuesWithoutGroup',
                               count(q.id) filter (where q.groups is null),
                           'pendingWithoutGroup',
                               coalesce(sum(q.pending) filter (where q.groups is null), 0),
                           'queuesTouched',
                               count(*) filter (where q.queue_id is not null
                                                   or q.parked is not null),
                           'queuesActive',
                               count(*) filter (where q.pushed > 0 or q.popped > 0))) as shown,
                   min(t.place) as place
            from member m
            left join queue q on q.id = m.id
            join top t on t.key = m.key
            join series s on s.key = m.key
            group by m.key
        )
        select json_build_object(
            'timeRange', queen_store.time_range(p_from, p_to), 'bucketMinutes', v_minutes,
            'groupBy', p_group_by,
            'buckets', (
                select json_agg(queen_store.bucket_text(a.bucket) order by a.bucket)
                from axis a),
            'rows', coalesce(json_agg(s.shown order by s.place)
                        filter (where s.key <> ''), '[]'),
            'truncated', (select count(*) from top) > v_keys_max + 1,
            'tenant', (array_agg(s.shown) filter (where s.key = ''))[1])
        from shown s);
end
$$;
comment on function queen_store.show_workload(
    uuid, timestamptz, timestamptz, text, text, text, text) is
    'What happened to the queues of a tenant, and what they hold, by a label. Locks: none.';

-- queen_store.show_dead_letter_signatures: why messages of a queue were given up: errors that
-- differ in ids, dates and numbers alone are one.
-- Called by  AnalyticsReads
-- Locks      none
-- Returns    a JSON object; null = no such queue
-- Cost       3 statements: that of told_amounts, and the p_limit newest dead letters of the queue
create or replace function queen_store.show_dead_letter_signatures(
    p_tenant_id uuid, p_queue text, p_limit integer)
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
as $$
declare
    v_signatures_max constant integer := 8;
    v_queue_id integer;
    v_rows bigint;
begin
    select q.id into v_queue_id
    from queen_store.queues q
    where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null;
    if not found then
        return null;
    end if;
    select t.dead_letters into v_rows
    from queen_store.told_amounts(array[v_queue_id]) t
    where t.group_id = 0;
    return (
        with sample as materialized (
            select d.group_name, d.retry_count, d.failed_at, length(d.payload) as bytes,
                   left(trim(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
                       left(d.error, 2000),
                       '\m[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\M'
                           '|\m(?=[0-9a-fA-F]*[0-9])[0-9a-fA-F]{16,}\M',
                       '<id>', 'g'),
                       '\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?',
                       '<date>', 'g'),
                       '\m\d+\M', '<n>', 'g'),
                       '\s+', ' ', 'g')), 120) as signature
            from (
                select d.*
                from queen_store.dead_letters d
                where d.queue_id = v_queue_id
                order by d.failed_at desc
                limit p_limit) d
        )
        select json_build_object(
            'queue', p_queue, 'rowsNow', coalesce(v_rows, 0), 'sample', count(*),
            'retryCounts', coalesce(json_agg(distinct s.retry_count), '[]'),
            'groups', coalesce(json_agg(distinct s.group_name), '[]'),
            'oldest', queen_store.utc_text(min(s.failed_at)),
            'newest', queen_store.utc_text(max(s.failed_at)), 'avgBytes', round(avg(s.bytes)),
            'signatures', (
                select coalesce(json_agg(json_build_object(
                           'text', e.signature, 'n', e.n,
                           'share', trim_scale(round(e.n::numeric / e.total, 4)))
                           order by e.n desc, e.signature), '[]')
                from (
                    select s.signature, count(*) as n, sum(count(*)) over () as total
                    from sample s
                    group by s.signature
                    order by 2 desc, 1
                    limit v_signatures_max) e),
            'byDay', (
                select coalesce(json_agg(json_build_object('day', d.day, 'n', d.n)
                           order by d.day), '[]')
                from (
                    select to_char(s.failed_at at time zone 'UTC', 'YYYY-MM-DD') as day,
                           count(*) as n
                    from sample s
                    group by 1) d))
        from sample s);
end
$$;
comment on function queen_store.show_dead_letter_signatures(uuid, text, integer) is
    'Why messages of a queue were given up. Locks: none.';

-- queen_store.show_partition_liveness: how many lanes of queues were written of late.
-- Called by  AnalyticsReads
-- Locks      none
-- Returns    a JSON object; p_limit queues, those with most lanes; an empty namespace means queues
--            without one. What is said of writes is what the last walk over the lanes found, null
--            where none has come to a queue yet; capturedAt is when the last walk ended
-- Cost       2 statements: that of told_amounts; per queue a probe, and its buckets of a day
create or replace function queen_store.show_partition_liveness(
    p_tenant_id uuid, p_queue text, p_namespace text, p_task text, p_limit integer)
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
declare
    v_now timestamptz := clock_timestamp();
    v_ids integer[];
begin
    v_ids := array(
        select q.id
        from queen_store.queues q
        where q.tenant_id = p_tenant_id and q.deleted_at is null
          and (p_queue is null or q.name = p_queue)
          and (p_namespace is null or q.namespace = p_namespace)
          and (p_task is null or q.task = p_task));
    return (
        with queue as materialized (
            select t.queue_id, t.lanes, t.pending, l.live_hour, l.live_day, l.live_week,
                   l.oldest_write_at, l.newest_write_at, l.walked_at
            from queen_store.told_amounts(v_ids) t
            left join queen_store.liveness l on l.queue_id = t.queue_id
            where t.group_id = 0
            order by t.lanes desc, t.queue_id
            limit p_limit
        )
        select json_build_object(
            'capturedAt', queen_store.utc_text(greatest(max(t.walked_at), (
                select j.last_ended_at
                from queen_store.jobs j
                where j.name = 'recount'))),
            'rows', coalesce(json_agg(json_build_object(
                'queue', q.name, 'namespace', q.namespace, 'task', q.task,
                'partitions', t.lanes, 'live1h', t.live_hour, 'live24h', t.live_day,
                'live7d', t.live_week, 'created24h', m.made,
                'oldestWriteAt', queen_store.utc_text(t.oldest_write_at),
                'newestWriteAt', queen_store.utc_text(t.newest_write_at),
                'pending', t.pending) order by t.lanes desc, t.queue_id), '[]'))
        from queue t
        join queen_store.queues q on q.id = t.queue_id
        cross join lateral (
            select coalesce(sum(b.lanes_made), 0) as made
            from queen_store.queue_buckets b
            where b.queue_id = t.queue_id and b.minutes = 15
              and b.bucket >= v_now - interval '1 day') m);
end
$$;
comment on function queen_store.show_partition_liveness(uuid, text, text, text, integer) is
    'How many lanes of queues were written of late. Locks: none.';

-- queen_store.gauge_json: a gauge over a time.
-- Called by  show_system_metrics
-- Locks      none
-- Returns    {"avg":…,"min":…,"max":…,"last":…}
-- Cost       none
create or replace function queen_store.gauge_json(
    p_avg numeric, p_min numeric, p_max numeric, p_last numeric)
returns json
language sql immutable parallel safe
return json_build_object(
    'avg', round(p_avg), 'min', round(p_min), 'max', round(p_max), 'last', round(p_last));
comment on function queen_store.gauge_json(numeric, numeric, numeric, numeric) is
    'A gauge over a time. Locks: none.';

-- queen_store.show_system_metrics: what brokers used of their machines, by bucket and broker.
-- Called by  AnalyticsReads
-- Locks      none
-- Returns    a JSON object, the oldest bucket first; p_broker null = of all brokers. All that
--            reported in that time are there; replicaCount and alive are about its end, or now
-- Cost       those of choose_buckets and broker_replicas, and the samples of the time
create or replace function queen_store.show_system_metrics(
    p_from timestamptz, p_to timestamptz, p_broker text)
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
declare
    v_minutes integer;
    v_end timestamptz := least(p_to, clock_timestamp());
begin
    -- No queue: the length of the time alone.
    select c.minutes into v_minutes
    from queen_store.choose_buckets(
        null, '', '', '', p_from, p_to, false) c;
    return (
        with process as materialized (
            select r.* from queen_store.broker_replicas(p_broker) r
        ),
        broker as materialized (
            select p.replica_id, max(p.name) as name, max(p.port) as port,
                   array_agg(p.broker_id) as ids
            from process p
            group by p.replica_id
        ),
        gauge as materialized (
            -- In floats: in numerics it takes seconds to add up some months.
            select s.replica_id, s.bucket, count(*) as samples, max(s.sampled_at) as last_at,
                   avg(s.uptime) as uptime, min(s.uptime) as uptime_min,
                   max(s.uptime) as uptime_max,
                   avg(s.cpu_user) as cpu_user, min(s.cpu_user) as cpu_user_min,
                   max(s.cpu_user) as cpu_user_max, avg(s.cpu_system) as cpu_system,
                   min(s.cpu_system) as cpu_system_min, max(s.cpu_system) as cpu_system_max,
                   avg(s.resident_bytes::double precision) as resident_bytes,
                   min(s.resident_bytes) as resident_bytes_min,
                   max(s.resident_bytes) as resident_bytes_max,
                   avg(s.pool_size) as pool_size, min(s.pool_size) as pool_size_min,
                   max(s.pool_size) as pool_size_max, avg(s.pool_idle) as pool_idle,
                   min(s.pool_idle) as pool_idle_min, max(s.pool_idle) as pool_idle_max,
                   avg(s.pool_active) as pool_active, min(s.pool_active) as pool_active_min,
                   max(s.pool_active) as pool_active_max
            from (
                select s.*, p.replica_id,
                       queen_store.bucket_at(v_minutes, s.sampled_at) as bucket,
                       date_part('epoch', s.sampled_at - p.started_at) as uptime,
                       s.cpu_user_us * (10.0::double precision / s.span_ms) as cpu_user,
                       s.cpu_system_us * (10.0::double precision / s.span_ms) as cpu_system
                from queen_store.broker_samples s
                join process p on p.broker_id = s.broker_id
                where s.sampled_at >= queen_store.bucket_at(v_minutes, p_from)
                  and s.sampled_at <= p_to
                offset 0) s
            group by 1, 2
        ),
        point as materialized (
            select g.replica_id, b.name, b.port, g.bucket,
                   g.last_at > v_end - greatest(
                       interval '2 minutes', l.span_ms * interval '2 ms') as is_alive,
                   json_build_object(
                       'timestamp', queen_store.bucket_text(g.bucket), 'sampleCount', g.samples,
                       'metrics', json_build_object(
                           'cpu', json_build_object(
                               'user_us', queen_store.gauge_json(
                                   g.cpu_user::numeric, g.cpu_user_min::numeric,
                                   g.cpu_user_max::numeric, l.cpu_user_us * 10.0 / l.span_ms),
                               'system_us', queen_store.gauge_json(
                                   g.cpu_system::numeric, g.cpu_system_min::numeric,
                                   g.cpu_system_max::numeric,
                                   l.cpu_system_us * 10.0 / l.span_ms)),
                           'memory', json_build_object(
                               'rss_bytes', queen_store.gauge_json(
                                   g.resident_bytes::numeric, g.resident_bytes_min,
                                   g.resident_bytes_max, l.resident_bytes)),
                           'database', json_build_object(
                               'pool_size', queen_store.gauge_json(
                                   g.pool_size, g.pool_size_min, g.pool_size_max,
                                   l.pool_size),
                               'pool_idle', queen_store.gauge_json(
                                   g.pool_idle, g.pool_idle_min, g.pool_idle_max,
                                   l.pool_idle),
                               'pool_active', queen_store.gauge_json(
                                   g.pool_active, g.pool_active_min,
                                   g.pool_active_max, l.pool_active)),
                           'uptime_seconds', queen_store.gauge_json(
                               g.uptime::numeric, g.uptime_min::numeric,
                               g.uptime_max::numeric,
                               extract(epoch from l.sampled_at - n.started_at)),
                           'threadpool', null, 'registries', null,
                           'shared_state', json_build_object('enabled', false))) as point
            from gauge g
            join broker b on b.replica_id = g.replica_id
            cross join lateral (
                select s.*
                from queen_store.broker_samples s
                where s.sampled_at = g.last_at and s.broker_id = any (b.ids)
                limit 1) l
            join process n on n.broker_id = l.broker_id
        ),
        replica as (
            select p.replica_id, bool_or(p.is_alive) as is_alive, json_build_object(
                       'hostname', p.name, 'port', p.port, 'workerId', 0,
                       'alive', bool_or(p.is_alive),
                       'timeSeries', json_agg(p.point order by p.bucket)) as replica
            from point p
            group by p.replica_id, p.name, p.port
        )
        select json_build_object(
            'timeRange', queen_store.time_range(p_from, p_to), 'bucketMinutes', v_minutes,
            'pointCount', (select count(*) from point),
            'replicaCount', count(*) filter (where r.is_alive),
            'replicas', coalesce(json_agg(r.replica order by r.replica_id), '[]'))
        from replica r);
end
$$;
comment on function queen_store.show_system_metrics(timestamptz, timestamptz, text) is
    'What brokers used of their machines, by bucket and broker. Locks: none.';

-- queen_store.show_workers: what brokers did, by bucket.
-- Called by  AnalyticsReads
-- Locks      none
-- Returns    a JSON object, the newest bucket first; p_broker null = of all brokers. With a queue
--            the messages are those of that queue, at all brokers
-- Cost       those of choose_buckets, read_samples, read_buckets, last_samples and told_amounts
create or replace function queen_store.show_workers(
    p_from timestamptz, p_to timestamptz, p_queue text, p_broker text)
returns json
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set jit = off
as $$
declare
    v_queues_max constant integer := 1000;
    v_minutes integer;
    v_stored integer;
begin
    select c.minutes, c.stored into v_minutes, v_stored
    from queen_store.choose_buckets(
        null, p_queue, null, null, p_from, p_to, false) c;
    return (
        with bucket as materialized (
            select b.*
            from queen_store.read_buckets(
                null, p_queue, null, null, p_from, p_to, v_minutes, v_stored) b
        ),
        host as materialized (
            select s.bucket, sum(s.push_requests) as push_requests,
                   sum(s.push_messages) as push_messages, sum(s.pop_requests) as pop_requests,
                   sum(s.pop_messages) as pop_messages, sum(s.ack_requests) as ack_requests,
                   sum(s.ack_messages) as ack_messages, sum(s.ack_failed) as ack_failed,
                   sum(s.database_errors) as database_errors, sum(s.lag_ms_sum) as lag_ms_sum,
                   max(s.lag_ms_max) as lag_ms_max, avg(s.tick_lag_us) as tick_lag_us,
                   max(s.tick_lag_us_max) as tick_lag_us_max, avg(s.pool_idle) as pool_idle,
                   min(s.pool_idle_min) as pool_idle_min, sum(s.pool_active) as pool_active,
                   avg(s.pool_waiting) as pool_waiting, max(s.pool_waiting_max) as pool_waiting_max
            from queen_store.read_samples(p_from, p_to, v_minutes, p_broker) s
            group by s.bucket
        ),
        traffic as materialized (
            select b.bucket, sum(b.push_messages) as push_messages,
                   sum(b.push_requests) as push_requests, sum(b.pop_messages) as pop_messages,
                   sum(b.pops + b.empty_pops) as pop_requests, sum(b.ack_requests) as ack_requests,
                   sum(b.acks) as acks, sum(b.failed_acks) as failed_acks,
                   sum(b.dead_letters) as dead_letters, sum(b.lag_ms_sum) as lag_ms_sum,
                   max(b.lag_ms_max) as lag_ms_max
            from bucket b
            group by b.bucket
        ),
        point as materialized (
            select coalesce(h.bucket, t.bucket) as bucket, h.tick_lag_us, h.tick_lag_us_max,
                   h.pool_idle, h.pool_idle_min, h.pool_active, h.pool_waiting,
                   h.pool_waiting_max, h.database_errors, t.dead_letters,
                   w.*
            from host h
            full join traffic t on t.bucket = h.bucket
            cross join lateral (
                select coalesce(case when p_queue is null then h.push_messages
                                     else t.push_messages end, 0) as push_messages,
                       coalesce(case when p_queue is null then h.push_requests
                                     else t.push_requests end, 0) as push_requests,
                       coalesce(case when p_queue is null then h.pop_messages
                                     else t.pop_messages end, 0) as pop_messages,
                       coalesce(case when p_queue is null then h.pop_requests
                                     else t.pop_requests end, 0) as pop_requests,
                       coalesce(case when p_queue is null then h.ack_messages
                                     else t.acks + t.failed_acks end, 0) as ack_messages,
                       coalesce(case when p_queue is null then h.ack_requests
                                     else t.ack_requests end, 0) as ack_requests,
                       coalesce(case when p_queue is null then h.ack_failed
                                     else t.failed_acks end, 0) as ack_failed,
                       case when p_queue is null then h.lag_ms_sum else t.lag_ms_sum end as lag,
                       case when p_queue is null then h.lag_ms_max else t.lag_ms_max end
                           as lag_max) w
        ),
        series as (
            select json_agg(json_build_object(
                       'timestamp', queen_store.bucket_text(p.bucket),
                       'pushMessages', p.push_messages, 'popMessages', p.pop_messages,
                       'ackMessages', p.ack_messages, 'pushRequests', p.push_requests,
                       'popRequests', p.pop_requests, 'ackRequests', p.ack_requests,
                       'jobsDone', p.push_requests,
                       'pushPerSecond', queen_store.per_second(p.push_messages, v_minutes),
                       'popPerSecond', queen_store.per_second(p.pop_messages, v_minutes),
                       'ackPerSecond', queen_store.per_second(p.ack_messages, v_minutes),
                       'avgEventLoopLagMs', trim_scale(round(p.tick_lag_us / 1000, 2)),
                       'maxEventLoopLagMs', trim_scale(round(p.tick_lag_us_max / 1000.0, 2)),
                       'avgFreeSlots', trim_scale(round(p.pool_idle, 2)),
                       'minFreeSlots', p.pool_idle_min,
                       'dbConnections', trim_scale(round(p.pool_active, 2)),
                       'avgJobQueueSize', trim_scale(round(p.pool_waiting, 2)),
                       'maxJobQueueSize', p.pool_waiting_max, 'backoffSize', 0,
                       'avgLagMs', round(p.lag / nullif(p.pop_messages, 0)),
                       'maxLagMs', case when p.pop_messages > 0 then p.lag_max end,
                       'lagCount', p.pop_messages, 'dbErrors', p.database_errors,
                       'ackSuccess', p.ack_messages - p.ack_failed, 'ackFailed', p.ack_failed,
                       'dlqCount', coalesce(p.dead_letters, 0)) order by p.bucket desc)
                       as points,
                   json_build_object(
                       'totalPushMessages', coalesce(sum(p.push_messages), 0),
                       'totalPopMessages', coalesce(sum(p.pop_messages), 0),
                       'totalAckMessages', coalesce(sum(p.ack_messages), 0),
                       'totalPushRequests', coalesce(sum(p.push_requests), 0),
                       'totalPopRequests', coalesce(sum(p.pop_requests), 0),
                       'totalAckRequests', coalesce(sum(p.ack_requests), 0),
                       'totalDbErrors', coalesce(sum(p.database_errors), 0),
                       'totalAckFailed', coalesce(sum(p.ack_failed), 0),
                       'totalDlq', coalesce(sum(p.dead_letters), 0),
                       'pendingMessages', (
                           select coalesce(sum(t.pending - t.processing), 0)
                           from queen_store.told_amounts(array(
                               select q.id
                               from queen_store.queues q
                               where q.deleted_at is null
                                 and (p_queue is null or q.name = p_queue))) t
                           where t.group_id = 0)) as summary
            from point p
        )
        select json_build_object(
            'timeSeries', coalesce(s.points, '[]'),
            'workers', queen_store.show_brokers(interval '5 minutes', p_broker),
            'queues', (
                select coalesce(json_agg(json_build_object(
                           'queueName', q.queue, 'popCount', q.pops,
                           'avgLagMs', round(q.lag / q.popped), 'maxLagMs', q.lag_max)
                           order by q.pops desc, q.queue), '[]')
                from (
                    select b.queue, sum(b.pops) as pops, sum(b.pop_messages) as popped,
                           sum(b.lag_ms_sum) as lag, max(b.lag_ms_max) as lag_max
                    from bucket b
                    where b.pop_messages > 0
                    group by b.queue
                    order by 2 desc, 1
                    limit v_queues_max) q),
            'summary', s.summary)
        from series s);
end
$$;
comment on function queen_store.show_workers(timestamptz, timestamptz, text, text) is
    'What brokers did, by bucket. Locks: none.';

-- Queues and lanes: identity, configuration, provisioning. Whoever may insert one of them first
-- takes the advisory lock of its name, because "on conflict do nothing" waits for the uncommitted
-- insert of another: with the lock tried first, such a name is simply busy.

-- queen_store.lock_key: number of the advisory lock that guards the insert of one name.
-- Called by  ensure_queue, ensure_lanes, configure_queue, lock_lane_names, register_group,
--            claim_first, ensure_group, seek_lane
-- Locks      none
-- Returns    64 bits; two names that share a number only make each other busy
-- Cost       one hash
create or replace function queen_store.lock_key(p_kind text, p_owner text, p_name text)
returns bigint
language sql immutable parallel safe
return hashtextextended(p_kind || ' ' || p_owner || ' ' || p_name, 0);

comment on function queen_store.lock_key(text, text, text) is
    'Number of the advisory lock that guards the insert of one name. Locks: none.';

-- queen_store.find_queue: the live queue of that name with its options.
-- Called by  QueueProcedures, QueueReads
-- Locks      none
-- Returns    one row, or none if there is no such queue
-- Cost       1 statement, one index probe
create or replace function queen_store.find_queue(p_tenant_id uuid, p_queue text)
returns table (
    queue_id integer, created boolean, namespace text, task text, lease_seconds integer,
    retry_limit integer, retry_delay_ms integer, dead_letter_queue boolean,
    dlq_after_max_retries boolean, delayed_processing_seconds integer,
    window_buffer_seconds integer, min_pop_wait_ms integer, retention_enabled boolean,
    retention_seconds integer, completed_retention_seconds integer, max_wait_seconds integer,
    encryption_enabled boolean, dedup_window_seconds integer, priority integer, max_size integer,
    ttl_seconds integer, retention_sink_hold text, retention_sink_hold_max_seconds integer,
    created_at timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select q.id, false, q.namespace, q.task, q.lease_seconds, q.retry_limit, q.retry_delay_ms,
           q.dead_letter_queue, q.dlq_after_max_retries, q.delayed_processing_seconds,
           q.window_buffer_seconds, q.min_pop_wait_ms, q.retention_enabled, q.retention_seconds,
           q.completed_retention_seconds, q.max_wait_seconds, q.encryption_enabled,
           q.dedup_window_seconds, q.priority, q.max_size, q.ttl_seconds, q.retention_sink_hold,
           q.retention_sink_hold_max_seconds, q.created_at
    from queen_store.queues q
    where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null;
end
$$;

comment on function queen_store.find_queue(uuid, text) is
    'The live queue of that name with its options; no row if there is none. Locks: none.';

-- queen_store.configure_queue: creates a queue or changes its options. An option that is absent
-- keeps its value when merging and goes back to its default when replacing; JSON null is the
-- default in either case. The lease of a configured queue defaults to 300 s, that of a queue made
-- by a push to 60 s.
-- Called by  QueueProcedures
-- Locks      advisory on the name when the queue is new, then queues: one row; waits
-- Returns    one row: the options now in force, created = true if the queue is new
-- Cost       3 statements, one row written
create or replace function queen_store.configure_queue(
    p_tenant_id uuid, p_queue text, p_merge boolean, p_options jsonb)
returns table (
    queue_id integer, created boolean, namespace text, task text, lease_seconds integer,
    retry_limit integer, retry_delay_ms integer, dead_letter_queue boolean,
    dlq_after_max_retries boolean, delayed_processing_seconds integer,
    window_buffer_seconds integer, min_pop_wait_ms integer, retention_enabled boolean,
    retention_seconds integer, completed_retention_seconds integer, max_wait_seconds integer,
    encryption_enabled boolean, dedup_window_seconds integer, priority integer, max_size integer,
    ttl_seconds integer, retention_sink_hold text, retention_sink_hold_max_seconds integer)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    -- Those of the columns but for the lease; a test compares the two.
    v_options jsonb := '{
        "namespace": "", "task": "", "lease_seconds": 300, "retry_limit": 3,
        "retry_delay_ms": 1000, "dead_letter_queue": true, "dlq_after_max_retries": true,
        "delayed_processing_seconds": 0, "window_buffer_seconds": 0, "min_pop_wait_ms": 0,
        "retention_enabled": false, "retention_seconds": 0, "completed_retention_seconds": 0,
        "max_wait_seconds": 0, "encryption_enabled": false, "dedup_window_seconds": 3600,
        "priority": 0, "max_size": 0, "ttl_seconds": 3600, "retention_sink_hold": "",
        "retention_sink_hold_max_seconds": 604800}';
    v_current jsonb;
    v_queue_id integer;
    v_created boolean := false;
begin
    loop
        select q.id, to_jsonb(q) into v_queue_id, v_current
        from queen_store.queues q
        where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null
        for no key update;
        exit when found;
        perform pg_advisory_xact_lock(
            queen_store.lock_key('queue', p_tenant_id::text, p_queue));
        insert into queen_store.queues (tenant_id, name)
        values (p_tenant_id, p_queue)
        on conflict (tenant_id, name) where deleted_at is null do nothing
        returning id into v_queue_id;
        v_created := found;
        -- Not inserted: another made it while this call waited for the lock.
        exit when v_created;
    end loop;

    if p_merge and not v_created then
        v_options := v_options || (v_current - array(
            select o.key from jsonb_each(p_options) o where o.value = 'null'));
    end if;
    v_options := v_options || jsonb_strip_nulls(p_options);

    return query
    update queen_store.queues q
    set namespace = o.namespace,
        task = o.task,
        lease_seconds = o.lease_seconds,
        retry_limit = o.retry_limit,
        retry_delay_ms = o.retry_delay_ms,
        dead_letter_queue = o.dead_letter_queue,
        dlq_after_max_retries = o.dlq_after_max_retries,
        delayed_processing_seconds = o.delayed_processing_seconds,
        window_buffer_seconds = o.window_buffer_seconds,
        min_pop_wait_ms = o.min_pop_wait_ms,
        retention_enabled = o.retention_enabled,
        retention_seconds = o.retention_seconds,
        completed_retention_seconds = o.completed_retention_seconds,
        max_wait_seconds = o.max_wait_seconds,
        encryption_enabled = o.encryption_enabled,
        dedup_window_seconds = o.dedup_window_seconds,
        priority = o.priority,
        max_size = o.max_size,
        ttl_seconds = o.ttl_seconds,
        retention_sink_hold = o.retention_sink_hold,
        retention_sink_hold_max_seconds = o.retention_sink_hold_max_seconds,
        dedup_widened_at = case
            when o.dedup_window_seconds > q.dedup_window_seconds and not v_created
            then clock_timestamp() else q.dedup_widened_at end
    from jsonb_to_record(v_options) as o (
        namespace text, task text, lease_seconds integer, retry_limit integer,
        retry_delay_ms integer, dead_letter_queue boolean, dlq_after_max_retries boolean,
        delayed_processing_seconds integer, window_buffer_seconds integer,
        min_pop_wait_ms integer, retention_enabled boolean, retention_seconds integer,
        completed_retention_seconds integer, max_wait_seconds integer,
        encryption_enabled boolean, dedup_window_seconds integer, priority integer,
        max_size integer, ttl_seconds integer, retention_sink_hold text,
        retention_sink_hold_max_seconds integer)
    where q.id = v_queue_id
    returning q.id, v_created, q.namespace, q.task, q.lease_seconds, q.retry_limit,
        q.retry_delay_ms, q.dead_letter_queue, q.dlq_after_max_retries,
        q.delayed_processing_seconds, q.window_buffer_seconds, q.min_pop_wait_ms,
        q.retention_enabled, q.retention_seconds, q.completed_retention_seconds,
        q.max_wait_seconds, q.encryption_enabled, q.dedup_window_seconds, q.priority, q.max_size,
        q.ttl_seconds, q.retention_sink_hold, q.retention_sink_hold_max_seconds;
end
$$;

comment on function queen_store.configure_queue(uuid, text, boolean, jsonb) is
    'Creates a queue or changes its options; absent ones are kept (merge) or reset (replace). Locks: advisory on the name when the queue is new, then queues: one row; waits.';

-- queen_store.ensure_queue: the queue of that name, made with defaults if there is none; its labels
-- come from the dotted name.
-- Called by  register_group
-- Locks      advisory on the name when the queue is new, tried only; queues: the new row
-- Returns    one row: ready with the id, or busy when another transaction is creating it
-- Cost       1 statement, one index probe; 2 when it is new
create or replace function queen_store.ensure_queue(p_tenant_id uuid, p_queue text)
returns table (verdict text, queue_id integer)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_queue_id integer;
begin
    select q.id into v_queue_id
    from queen_store.queues q
    where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null;
    if v_queue_id is null and pg_try_advisory_xact_lock(
            queen_store.lock_key('queue', p_tenant_id::text, p_queue)) then
        insert into queen_store.queues (tenant_id, name, namespace, task)
        values (p_tenant_id, p_queue, split_part(p_queue, '.', 1), split_part(p_queue, '.', 2))
        on conflict (tenant_id, name) where deleted_at is null do nothing
        returning id into v_queue_id;
        if v_queue_id is null then
            -- Committed by another between the look and the lock.
            select q.id into v_queue_id
            from queen_store.queues q
            where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null;
        end if;
    end if;
    return query
    select case when v_queue_id is null then 'busy' else 'ready' end, v_queue_id;
end
$$;

comment on function queen_store.ensure_queue(uuid, text) is
    'The queue of that name, made with defaults if there is none; busy while another makes it. Locks: advisory on the name when the queue is new, tried only; queues: the new row.';

-- queen_store.delete_queue: ends a queue and frees its name. Its lanes, messages, cursors and dead
-- letters stay as rows that nothing shows and no call reaches; clean-up removes them in steps.
-- Called by  QueueProcedures
-- Locks      queues: one row; waits
-- Returns    false if there was no such queue
-- Cost       1 statement, one row written, however much the queue holds
create or replace function queen_store.delete_queue(p_tenant_id uuid, p_queue text)
returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    update queen_store.queues q
    set deleted_at = clock_timestamp()
    where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null;
    return found;
end
$$;

comment on function queen_store.delete_queue(uuid, text) is
    'Ends a queue and frees its name; what it held is removed behind the call. Locks: queues: one row; waits.';

-- queen_store.left_behind: what stays of a queue of that name when it is deleted: bytes that come
-- back when their epochs go, and timers, which would make it again.
-- Called by  QueueProcedures
-- Locks      none
-- Returns    one row, also where there is no such queue; timers are counted to 10,000
-- Cost       1 statement: that of stored_bytes, and an index range of timers
create or replace function queen_store.left_behind(p_tenant_id uuid, p_queue text)
returns table (disk_bytes bigint, timers bigint, timers_capped boolean)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_timers_max constant integer := 10000;
begin
    return query
    select coalesce((
               select b.disk_bytes
               from queen_store.queues q
               cross join lateral queen_store.stored_bytes(q.id, 0) b
               where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null), 0),
           t.timers, t.timers = v_timers_max
    from (
        select count(*) as timers
        from (
            select
            from queen_store.timers t
            where t.tenant_id = p_tenant_id and t.queue = p_queue
            limit v_timers_max) t) t;
end
$$;

comment on function queen_store.left_behind(uuid, text) is
    'What stays of a queue of that name when it is deleted: bytes, and timers that would make it again. Locks: none.';

-- queen_store.queues_with_labels: the live queues a discovery pop may serve from.
-- Called by  PopProcedures
-- Locks      none
-- Returns    one row per queue whose labels equal those given; '' = not asked for
-- Cost       1 statement, one index range of the tenant
create or replace function queen_store.queues_with_labels(
    p_tenant_id uuid, p_namespace text, p_task text)
returns table (queue_id integer, name text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select q.id, q.name
    from queen_store.queues q
    where q.tenant_id = p_tenant_id
      and (p_namespace = '' or q.namespace = p_namespace)
      and (p_task = '' or q.task = p_task)
      and q.deleted_at is null
    order by q.id;
end
$$;

comment on function queen_store.queues_with_labels(uuid, text, text) is
    'Live queues of a tenant with these labels; an empty label is not asked for. Locks: none.';

-- queen_store.ensure_lanes: the lanes of those names, queues and lanes made where missing. Never
-- waits, and does not touch the row of a queue that exists.
-- Called by  LaneProcedures, provision_lanes, fire_timers, fail_timers
-- Locks      advisory on the names of missing queues and lanes, tried only, by name; queues and
--            partitions: new rows
-- Returns    one row per input; busy when another transaction is creating the queue or the lane
-- Cost       3 statements for up to 256 names, index probes only
create or replace function queen_store.ensure_lanes(
    p_tenant_ids uuid[], p_queues text[], p_partitions text[])
returns table (
    ordinal integer, verdict text, queue_id integer, partition_id bigint, last_offset bigint,
    log_start bigint, created boolean)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
-- One plan is right for any size of array, and a new one per call costs more than its work.
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_created bigint[];
    v_queue_ids integer[];
begin
    -- The lock is taken after the snapshot of its statement, so a row that another committed in
    -- between conflicts, and is found by the next statement. An uncommitted one never gets here.
    with missing as materialized (
        select distinct i.tenant_id, i.queue
        from unnest(p_tenant_ids, p_queues) as i (tenant_id, queue)
        where not exists (
            select from queen_store.queues q
            where q.tenant_id = i.tenant_id and q.name = i.queue and q.deleted_at is null)
        order by i.tenant_id, i.queue)
    insert into queen_store.queues (tenant_id, name, namespace, task)
    select m.tenant_id, m.queue, split_part(m.queue, '.', 1), split_part(m.queue, '.', 2)
    from missing m
    where pg_try_advisory_xact_lock(
        queen_store.lock_key('queue', m.tenant_id::text, m.queue))
    on conflict (tenant_id, name) where deleted_at is null do nothing;

    with missing as materialized (
        select distinct q.id, i.partition
        from unnest(p_tenant_ids, p_queues, p_partitions) as i (tenant_id, queue, partition)
        cross join lateral (
            select q.id
            from queen_store.queues q
            where q.tenant_id = i.tenant_id and q.name = i.queue and q.deleted_at is null
            limit 1) q
        -- As in find_lanes.
        left join lateral (
            select p.name
            from queen_store.partitions p
            where p.queue_id = q.id and p.name >= i.partition
            order by p.name
            limit 1) p on true
        where p.name is distinct from i.partition
        order by q.id, i.partition),
    inserted as (
        insert into queen_store.partitions (queue_id, name)
        select m.id, m.partition
        from missing m
        where pg_try_advisory_xact_lock(
            queen_store.lock_key('lane', m.id::text, m.partition))
        on conflict (queue_id, name) do nothing
        returning id, queue_id)
    select array_agg(n.id), array_agg(n.queue_id) into v_created, v_queue_ids from inserted n;
    if v_created is not null then
        perform queen_store.add_counts(
            v_queue_ids, array_fill(0, array[cardinality(v_queue_ids)]),
            array_fill(1::bigint, array[cardinality(v_queue_ids)]), null, null, null, null, null,
            null, false);
    end if;

    return query
    select i.ordinal::integer, case when p.id is null then 'busy' else 'ready' end, q.id, p.id,
           p.last_offset, p.log_start, coalesce(p.id = any (v_created), false)
    from unnest(p_tenant_ids, p_queues, p_partitions) with ordinality
        as i (tenant_id, queue, partition, ordinal)
    left join lateral (
        select q.id
        from queen_store.queues q
        where q.tenant_id = i.tenant_id and q.name = i.queue and q.deleted_at is null
        limit 1) q on true
    left join lateral (
        select p.id, p.last_offset, p.log_start
        from (
            select p.id, p.name, p.last_offset, p.log_start
            from queen_store.partitions p
            where p.queue_id = q.id and p.name >= i.partition
            order by p.name
            limit 1) p
        where p.name = i.partition) p on true
    order by i.ordinal;
end
$$;

comment on function queen_store.ensure_lanes(uuid[], text[], text[]) is
    'Lanes by name, queues and lanes made where missing; busy while another makes one. Locks: advisory on the names of missing queues and lanes, tried only, by name; queues and partitions: new rows.';

-- queen_store.lock_lane_names: waits until nobody else is creating one of these queues or lanes, so
-- that the next ensure_lanes of this transaction finds or makes them. A statement that waits for
-- others: a broker never calls it.
-- Called by  provision_lanes
-- Locks      advisory on the names of missing queues, then of missing lanes, by name; waits
-- Returns    nothing
-- Cost       2 statements
create or replace function queen_store.lock_lane_names(
    p_tenant_id uuid, p_queues text[], p_partitions text[])
returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pg_advisory_xact_lock(queen_store.lock_key('queue', p_tenant_id::text, m.queue))
    from (
        select distinct i.queue
        from unnest(p_queues) as i (queue)
        where not exists (
            select from queen_store.queues q
            where q.tenant_id = p_tenant_id and q.name = i.queue and q.deleted_at is null)
        order by i.queue) m;

    perform pg_advisory_xact_lock(queen_store.lock_key('lane', m.id::text, m.partition))
    from (
        select distinct q.id, i.partition
        from unnest(p_queues, p_partitions) as i (queue, partition)
        join queen_store.queues q
            on q.tenant_id = p_tenant_id and q.name = i.queue and q.deleted_at is null
        where not exists (
            select from queen_store.partitions p
            where p.queue_id = q.id and p.name = i.partition)
        order by q.id, i.partition) m;
end
$$;

comment on function queen_store.lock_lane_names(uuid, text[], text[]) is
    'Waits until nobody else is creating one of these queues or lanes. Locks: advisory on the names of missing queues, then of missing lanes, by name; waits.';

-- queen_store.find_lanes: the lanes of those names, as far as they exist.
-- Called by  LaneProcedures, ReadyProcedures, queen.pop
-- Locks      none
-- Returns    one row per input that exists, with its ordinal
-- Cost       1 statement, two index probes per name
create or replace function queen_store.find_lanes(
    p_tenant_ids uuid[], p_queues text[], p_partitions text[])
returns table (
    ordinal integer, verdict text, queue_id integer, partition_id bigint, last_offset bigint,
    log_start bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
-- One plan is right for any size of array, and a new one per call costs more than its work.
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    select i.ordinal::integer, 'ready', q.id, p.id, p.last_offset, p.log_start
    from unnest(p_tenant_ids, p_queues, p_partitions) with ordinality
        as i (tenant_id, queue, partition, ordinal)
    cross join lateral (
        select q.id
        from queen_store.queues q
        where q.tenant_id = i.tenant_id and q.name = i.queue and q.deleted_at is null
        limit 1) q
    -- In order of names, or a plan made while the table is empty would read the lanes by time.
    cross join lateral (
        select p.id, p.name, p.last_offset, p.log_start
        from queen_store.partitions p
        where p.queue_id = q.id and p.name >= i.partition
        order by p.name
        limit 1) p
    where p.name = i.partition
    order by i.ordinal;
end
$$;

comment on function queen_store.find_lanes(uuid[], text[], text[]) is
    'Lanes by name, as far as they exist. Locks: none.';

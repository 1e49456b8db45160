-- queen.transact: keys, timers, pushes and acknowledgements as one step of the caller's
-- transaction.

-- queen.transact: takes messages off one lane and puts others into another, or neither: what a
-- consumer that produces needs; writes keys and schedules or cancels timers with them. It is one
-- with the caller's transaction, so what queen.push and queen.ack would answer with a row is an
-- error here: a message that its lane took before within the dedup window, an ack that cannot be
-- carried out, an operation on a key that must be applied and is not. The transaction cannot go on
-- to commit its other half by accident; who wants to go on sets a savepoint. Acks of one lane and
-- group go by the first lease they name. Without one they are judged by those that the call names
-- elsewhere: the holder must be among them; else what the call names besides must be held. Locks
-- are held until the transaction ends: put all of a step in one call, for two transactions that do
-- it in several may deadlock.
-- Called by  applications
-- Locks      kv, as queen.kv_apply; timers, ascending (queue, timer_key); advisory on the names of
--            missing queues and lanes; queues and partitions: new rows; partitions, ascending id;
--            cursors, ascending (partition_id, group_id); waits; groups at a group's first ack
--            ever, skip locked
-- Returns    one row per operation on a key, as queen.kv_apply, then per operation on a timer, as
--            queen.timer_apply, then per push, then per ack, each in order. push: queued, or
--            duplicate for the repetition of an earlier one of the same call; ack: done, noop
--            (completed before) or stale (a failure of what was completed before)
-- Raises     QN400 bad_request, QN403 timer_horizon_exceeded, QN409 kv_precondition, QN409
--            duplicate, QN409 ack_rejected, QN409 queue_encrypted, QN503 busy
-- Cost       as queen.kv_apply, queen.timer_apply, queen.push and ack_messages, for up to 10,000
--            pushes and acks
create or replace function queen.transact(
    p_queues text[] default null, p_partitions text[] default null,
    p_payloads text[] default null, p_transaction_ids text[] default null,
    p_ack_partition_ids uuid[] default null, p_ack_transaction_ids text[] default null,
    p_ack_groups text[] default null, p_ack_lease_ids uuid[] default null,
    p_ack_statuses text[] default null, p_ack_errors text[] default null,
    p_required_lease_ids uuid[] default null, p_trace_ids uuid[] default null,
    -- As queen.kv_apply takes them.
    p_kv_ops text[] default null, p_kv_namespaces text[] default null,
    p_kv_keys text[] default null, p_kv_values json[] default null,
    p_kv_ttl_seconds bigint[] default null, p_kv_expects bigint[] default null,
    p_kv_deltas numeric[] default null, p_kv_mins numeric[] default null,
    p_kv_maxs numeric[] default null, p_kv_required boolean[] default null,
    -- As queen.timer_apply takes them.
    p_timer_ops text[] default null, p_timer_queues text[] default null,
    p_timer_keys text[] default null, p_timer_payloads text[] default null,
    p_timer_deliver_ats timestamptz[] default null, p_timer_partitions text[] default null,
    p_timer_transaction_ids text[] default null, p_timer_dedup boolean[] default null,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
    part text, ordinal integer, status text, message_id uuid, transaction_id text,
    partition_id uuid, "offset" bigint, lease_released boolean, dead_lettered boolean,
    value json, version bigint, deliver_at timestamptz)
language plpgsql volatile parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_pushes integer := coalesce(cardinality(p_queues), 0);
    v_acks integer := coalesce(cardinality(p_ack_partition_ids), 0);
    -- Per ack; an empty group is an absent one.
    v_groups text[];
    v_lease_ids uuid[] := coalesce(p_ack_lease_ids, array_fill(null::uuid, array[v_acks]));
    v_statuses text[];
    v_errors text[] := coalesce(p_ack_errors, array_fill(null::text, array[v_acks]));
    v_units integer[];
    -- Per unit, one (lane, group), with the first lease that its acks name.
    v_unit_lanes bigint[] := '{}';
    v_unit_groups text[] := '{}';
    v_unit_lease_ids uuid[] := '{}';
    -- Every lease that the call names.
    v_supplied_lease_ids uuid[] := array_remove(v_lease_ids || p_required_lease_ids, null);
    -- Per push: the first of the call with its lane and transaction id.
    v_firsts bigint[];
    v_freed_lanes bigint[];
    v_freed_queue_ids integer[];
    -- Per ack that moved a cursor.
    v_queue_ids integer[];
    v_group_ids integer[];
    v_passed bigint[];
    v_ended bigint[];
    v_filed bigint[];
    v_bad record;
begin
    perform queen_store.require_number('number of pushes and acks', v_pushes + v_acks, 0, 10000);
    if v_acks > 0 then
        v_groups := array(
            select coalesce(nullif(p_ack_groups[i.ordinal], ''), '__QUEUE_MODE__')
            from generate_series(1, v_acks) as i (ordinal)
            order by i.ordinal);
        v_statuses := array(
            select coalesce(p_ack_statuses[i.ordinal], 'completed')
            from generate_series(1, v_acks) as i (ordinal)
            order by i.ordinal);
        perform queen_store.require_acks(
            p_ack_partition_ids, p_ack_transaction_ids, p_ack_groups, v_groups, v_lease_ids,
            p_ack_statuses, v_statuses, v_errors);
    end if;

    if cardinality(p_kv_ops) > 0 then
        part := 'kv';
        for ordinal, status, value, version in
            select k.ordinal, k.status, k.value, k.version
            from queen.kv_apply(
                p_kv_ops, p_kv_namespaces, p_kv_keys, p_kv_values, p_kv_ttl_seconds,
                p_kv_expects, p_kv_deltas, p_kv_mins, p_kv_maxs, p_kv_required, p_tenant) k
        loop
            return next;
        end loop;
        value := null;
        version := null;
    end if;
    if cardinality(p_timer_ops) > 0 then
        part := 'timer';
        for ordinal, status, message_id, transaction_id, deliver_at in
            select t.ordinal, t.status, t.message_id, t.transaction_id, t.deliver_at
            from queen.timer_apply(
                p_timer_ops, p_timer_queues, p_timer_keys, p_timer_payloads,
                p_timer_deliver_ats, p_timer_partitions, p_timer_transaction_ids, p_timer_dedup,
                p_tenant) t
        loop
            return next;
        end loop;
        message_id := null;
        transaction_id := null;
        deliver_at := null;
    end if;
    if v_pushes > 0 then
        part := 'push';
        for ordinal, status, message_id, transaction_id, partition_id, "offset" in
            select p.ordinal, p.status, p.message_id, p.transaction_id, p.partition_id, p."offset"
            from queen.push(
                p_queues, p_partitions, p_payloads, p_transaction_ids, p_trace_ids, p_tenant) p
        loop
            if status = 'duplicate' then
                -- A repetition within the call is none of what is stored: the first one decides.
                if v_firsts is null then
                    v_firsts := array(
                        select min(f.ordinal) over (
                                   partition by f.queue, coalesce(nullif(f.partition, ''),
                                   'Default'), f.transaction_id)
                        from unnest(p_queues, p_partitions, p_transaction_ids) with ordinality
                            as f (queue, partition, transaction_id, ordinal)
                        order by f.ordinal);
                end if;
                if v_firsts[ordinal] = ordinal then
                    raise exception using errcode = 'QN409', message = 'duplicate',
                        detail = format(
                            'message %s, transaction id "%s", is in queue "%s" partition "%s"'
                            ' already', ordinal, transaction_id, p_queues[ordinal],
                            coalesce(nullif(p_partitions[ordinal], ''), 'Default'));
                end if;
            end if;
            return next;
        end loop;
    end if;
    if v_acks > 0 then
        select array_agg(u.unit order by u.ordinal) into v_units
        from (
            select i.ordinal,
                   dense_rank() over (order by i.partition_id, i.group_name)::integer as unit
            from unnest(p_ack_partition_ids, v_groups) with ordinality
                as i (partition_id, group_name, ordinal)) u;
        -- 0 is no lane: what is not a partition id belongs to no tenant.
        select array_agg(u.lane order by u.unit), array_agg(u.group_name order by u.unit),
               array_agg(u.lease_id order by u.unit)
        into v_unit_lanes, v_unit_groups, v_unit_lease_ids
        from (
            select i.unit, i.group_name,
                   coalesce(queen_store.partition_number(i.partition_id), 0) as lane,
                   (array_agg(i.lease_id order by i.ordinal)
                       filter (where i.lease_id is not null))[1] as lease_id
            from unnest(v_units, p_ack_partition_ids, v_groups, v_lease_ids) with ordinality
                as i (unit, partition_id, group_name, lease_id, ordinal)
            group by i.unit, i.partition_id, i.group_name) u;
    end if;
    -- Leases by which no ack goes; the others are judged with their acks.
    if not v_supplied_lease_ids <@ v_unit_lease_ids
            and array_position(v_unit_lease_ids, null) is null
            and not queen_store.hold_leases(
                p_tenant, v_supplied_lease_ids, v_unit_lease_ids, v_unit_lanes,
                v_unit_groups) then
        raise exception using errcode = 'QN409', message = 'ack_rejected',
            detail = case
                when (array_remove(p_required_lease_ids, null) <@ v_unit_lease_ids) is false
                then 'a required lease has run out, or somebody else took it over'
                else (
                    select format(
                        'ack %s, transaction id "%s" of partition %s for group "%s": invalid lease',
                        i.ordinal, i.transaction_id, i.partition_id, i.group_name)
                    from unnest(
                        v_lease_ids, p_ack_transaction_ids, p_ack_partition_ids, v_groups)
                        with ordinality as i (
                            lease_id, transaction_id, partition_id, group_name, ordinal)
                    where i.lease_id <> all (v_unit_lease_ids)
                    order by i.ordinal
                    limit 1) end;
    end if;
    if v_acks = 0 then
        return;
    end if;

    part := 'ack';
    message_id := null;
    "offset" := null;
    for v_bad in
        select a.*
        from queen_store.ack_bundle(
            p_tenant, v_unit_lanes, v_unit_groups, v_unit_lease_ids,
            v_supplied_lease_ids, v_units,
            array(select queen_store.key_of(t.transaction_id)
                  from unnest(p_ack_transaction_ids) with ordinality
                      as t (transaction_id, ordinal)
                  order by t.ordinal),
            array(select case s.status
                         when 'completed' then 0 when 'failed' then 1 when 'retry' then 2
                         else 3 end::smallint
                  from unnest(v_statuses) with ordinality as s (status, ordinal)
                  order by s.ordinal),
            v_errors) a
    loop
        ordinal := v_bad.item;
        status := v_bad.verdict;
        transaction_id := p_ack_transaction_ids[ordinal];
        partition_id := p_ack_partition_ids[ordinal];
        if status = 'busy' then
            raise exception using errcode = 'QN503', message = 'busy',
                detail = format(
                    'the cursor of group "%s" on partition %s was just placed by somebody else',
                    v_groups[ordinal], partition_id);
        end if;
        if status not in ('done', 'noop', 'stale') then
            raise exception using errcode = 'QN409', message = 'ack_rejected',
                detail = format(
                    'ack %s, transaction id "%s" of partition %s for group "%s": %s', ordinal,
                    transaction_id, partition_id, v_groups[ordinal], replace(status, '_', ' '));
        end if;
        lease_released := v_bad.lease_released;
        dead_lettered := v_bad.dead_lettered;
        if coalesce(v_bad.passed, v_bad.ended, v_bad.filed) is not null then
            v_queue_ids := v_queue_ids || v_bad.queue_id;
            v_group_ids := v_group_ids || v_bad.group_id;
            v_passed := v_passed || v_bad.passed;
            v_ended := v_ended || v_bad.ended;
            v_filed := v_filed || v_bad.filed;
        end if;
        if lease_released and v_bad.committed < v_bad.last_offset then
            v_freed_lanes := v_freed_lanes || v_bad.partition_id;
            v_freed_queue_ids := v_freed_queue_ids || v_bad.queue_id;
        end if;
        return next;
    end loop;
    perform queen_store.add_counts(
        v_queue_ids, v_group_ids, null, null, v_passed, null, v_ended, v_filed, null, false,
        array(
            select greatest(i.passed - coalesce(i.filed, 0), 0)
            from unnest(v_passed, v_filed) with ordinality i (passed, filed, ordinal)
            order by i.ordinal));
    -- Lanes given back with messages left: a parked pop of a broker may take them at commit.
    perform queen.wake(v_freed_lanes, v_freed_queue_ids);
end
$$;

comment on function queen.transact(
    text[], text[], text[], text[], uuid[], text[], text[], uuid[], text[], text[], uuid[], uuid[],
    text[], text[], text[], json[], bigint[], bigint[], numeric[], numeric[], numeric[], boolean[],
    text[], text[], text[], text[], timestamptz[], text[], text[], boolean[], uuid) is
    'Keys, timers, pushes and acknowledgements as one step of the caller''s transaction: all of them, or an error. Locks: kv, as queen.kv_apply; timers, ascending (queue, timer_key); advisory on the names of missing queues and lanes; queues and partitions: new rows; partitions, ascending id; cursors, ascending (partition_id, group_id); waits; groups at a group''s first ack ever, skip locked.';

-- queen_store.require_acks: refuses acknowledgements that queen.transact cannot carry out.
-- Called by  queen.transact
-- Locks      none
-- Returns    nothing
-- Raises     QN400 bad_request
-- Cost       1 statement over the arguments
create or replace function queen_store.require_acks(
    p_partition_ids uuid[], p_transaction_ids text[], p_given_groups text[], p_groups text[],
    p_lease_ids uuid[], p_given_statuses text[], p_statuses text[], p_errors text[])
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count integer := cardinality(p_partition_ids);
    v_bad record;
begin
    if cardinality(p_transaction_ids) is distinct from v_count
            or cardinality(p_given_groups) <> v_count or cardinality(p_lease_ids) <> v_count
            or cardinality(p_given_statuses) <> v_count or cardinality(p_errors) <> v_count then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = format('every array must have one element per ack, %s of them', v_count);
    end if;
    select i.transaction_id, i.group_name, i.status into v_bad
    from unnest(p_transaction_ids, p_groups, p_statuses)
        as i (transaction_id, group_name, status)
    where i.transaction_id is null or octet_length(i.transaction_id) not between 1 and 65535
       or octet_length(i.group_name) > 1024
       or i.status not in ('completed', 'failed', 'retry', 'dlq')
    limit 1;
    if found then
        perform queen_store.require_name('group', v_bad.group_name, 1, 1024);
        perform queen_store.require_name('transaction id', v_bad.transaction_id, 1, 65535);
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = format('status must be completed, failed, retry or dlq, got %s', v_bad.status);
    end if;
end
$$;

comment on function queen_store.require_acks(
    uuid[], text[], text[], text[], uuid[], text[], text[], text[]) is
    'Refuses acknowledgements that queen.transact cannot carry out. Locks: none.';

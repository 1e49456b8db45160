-- queen.ack: what became of messages that queen.pop, or a broker, delivered.

-- queen.ack: says what became of delivered messages. An ack is a commit of an offset: completed
-- moves the cursor of the group to that message, those before it in the batch included; failed
-- gives the message and all after it back and charges the retry budget; retry gives back free of
-- charge; dlq files a dead letter and goes on behind it. With the lease id only its holder's acks
-- count. All of it commits with the caller's transaction.
-- Called by  applications, queen.ack of one message
-- Locks      cursors, ascending (partition_id, group_id); waits; groups at a group's first ack
--            ever, skip locked
-- Returns    one row per message, in order; success = false says why in error
-- Raises     QN400 bad_request
-- Cost       as ack_messages, for up to 10,000 messages
create or replace function queen.ack(
    p_partition_ids uuid[], p_transaction_ids text[], p_group text default null,
    p_lease_ids uuid[] default null, p_statuses text[] default null,
    p_errors text[] default null,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
    ordinal integer, success boolean, error text, noop boolean, lease_released boolean,
    dead_lettered boolean)
language plpgsql volatile parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
-- Planning anew for each call costs more than the call.
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_count integer := coalesce(cardinality(p_partition_ids), 0);
    v_group text := coalesce(nullif(p_group, ''), '__QUEUE_MODE__');
    v_lease_ids uuid[] := coalesce(p_lease_ids, array_fill(null::uuid, array[v_count]));
    v_statuses text[] := coalesce(p_statuses, array_fill('completed'::text, array[v_count]));
    v_errors text[] := coalesce(p_errors, array_fill(null::text, array[v_count]));
    v_units integer[];
    v_unit_lanes bigint[];
    v_unit_leases uuid[];
    v_freed_lanes bigint[];
    v_freed_queue_ids integer[];
    v_bad record;
begin
    perform queen_store.require_name('group', v_group, 1, 1024);
    perform queen_store.require_number('number of messages', v_count, 0, 10000);
    if v_count = 0 then
        return;
    end if;
    if cardinality(p_transaction_ids) is distinct from v_count
            or cardinality(v_lease_ids) <> v_count or cardinality(v_statuses) <> v_count
            or cardinality(v_errors) <> v_count then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = format('every array must have one element per message, %s of them', v_count);
    end if;
    select i.transaction_id, coalesce(i.status, 'completed') as status into v_bad
    from unnest(p_transaction_ids, v_statuses) as i (transaction_id, status)
    where i.transaction_id is null or octet_length(i.transaction_id) not between 1 and 65535
       or i.status not in ('completed', 'failed', 'retry', 'dlq')
    limit 1;
    if found then
        perform queen_store.require_name('transaction id', v_bad.transaction_id, 1, 65535);
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = format('status must be completed, failed, retry or dlq, got %s', v_bad.status);
    end if;

    select array_agg(u.unit order by u.ordinal) into v_units
    from (
        select i.ordinal,
               dense_rank() over (order by i.partition_id, i.lease_id)::integer as unit
        from unnest(p_partition_ids, v_lease_ids) with ordinality
            as i (partition_id, lease_id, ordinal)) u;
    -- 0 is no lane: what is not a partition id belongs to no tenant.
    select array_agg(u.lane order by u.unit), array_agg(u.lease_id order by u.unit)
    into v_unit_lanes, v_unit_leases
    from (
        select distinct i.unit, i.lease_id,
               coalesce(queen_store.partition_number(i.partition_id), 0) as lane
        from unnest(v_units, p_partition_ids, v_lease_ids)
            as i (unit, partition_id, lease_id)) u;

    return query
    with answer as materialized (
        select a.*
        from queen_store.ack_messages(
            array_fill(p_tenant, array[cardinality(v_unit_lanes)]), v_unit_lanes,
            array_fill(v_group, array[cardinality(v_unit_lanes)]), v_unit_leases,
            v_units,
            array(select queen_store.key_of(t.transaction_id)
                  from unnest(p_transaction_ids) with ordinality as t (transaction_id, ordinal)
                  order by t.ordinal),
            array(select case coalesce(s.status, 'completed')
                         when 'completed' then 0 when 'failed' then 1 when 'retry' then 2
                         else 3 end::smallint
                  from unnest(v_statuses) with ordinality as s (status, ordinal)
                  order by s.ordinal),
            v_errors, true) a),
    counted as materialized (
        select queen_store.add_counts(
            array_agg(a.queue_id), array_agg(a.group_id), null, null, array_agg(a.passed), null,
            array_agg(a.ended), array_agg(a.filed), null, false,
            array_agg(greatest(a.passed - coalesce(a.filed, 0), 0))) as done
        from answer a
        where coalesce(a.passed, a.ended, a.filed) is not null),
    -- Lanes given back with messages left: a parked pop of a broker may take them at commit.
    woken as materialized (
        select queen.wake(array_agg(a.partition_id), array_agg(a.queue_id)) as done
        from answer a
        where a.lease_released and a.committed < a.last_offset)
    select a.item, a.verdict in ('done', 'noop'),
           case a.verdict
               when 'stale' then 'already committed: the cursor moved past this message before'
                   ' this ack'
               when 'unresolvable' then 'unresolvable: transaction not in the ack window (hash'
                   ' purged or never pushed); if leased, the message redelivers'
               when 'consumer_not_found' then 'consumer not found'
               when 'invalid_lease' then 'invalid or expired lease'
               when 'not_owned' then 'partition not owned by tenant'
               when 'no_leased_batch' then 'no leased batch'
               when 'busy' then 'busy'
           end,
           a.verdict = 'noop', a.lease_released, a.dead_lettered
    from answer a
    cross join counted n
    cross join woken w
    order by a.item;
end
$$;

comment on function queen.ack(uuid[], text[], text, uuid[], text[], text[], uuid) is
    'Says what became of delivered messages, within the transaction of the caller. Locks: cursors, ascending (partition_id, group_id); waits; groups at a group''s first ack ever, skip locked.';

-- queen.ack: says what became of one delivered message; see the form for many.
-- Called by  applications
-- Locks      cursors: one row; waits; groups at a group's first ack ever, skip locked
-- Returns    one row; success = false says why in error
-- Raises     QN400 bad_request
-- Cost       as the form for many
create or replace function queen.ack(
    p_partition_id uuid, p_transaction_id text, p_group text default null,
    p_lease_id uuid default null, p_status text default 'completed', p_error text default null,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
    success boolean, error text, noop boolean, lease_released boolean, dead_lettered boolean)
language plpgsql volatile parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    select a.success, a.error, a.noop, a.lease_released, a.dead_lettered
    from queen.ack(
        array[p_partition_id], array[p_transaction_id], p_group, array[p_lease_id],
        array[p_status], array[p_error], p_tenant) a;
end
$$;

comment on function queen.ack(uuid, text, text, uuid, text, text, uuid) is
    'Says what became of one delivered message, within the transaction of the caller. Locks: cursors: one row; waits; groups at a group''s first ack ever, skip locked.';

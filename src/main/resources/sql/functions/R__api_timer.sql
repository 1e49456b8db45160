-- queen.timer_*: messages scheduled in the caller's own transaction.

-- queen.timer_apply: schedules and cancels any number of timers as one step of the caller's
-- transaction. With its commit timers are there, and brokers are told unless queen.notify is off;
-- then they find them when they next look, which may take QUEEN_SWEEPER_IDLE_MAX_SLEEP_MS. Rows are
-- locked in one order and stay locked until the transaction ends: put all of a step in one call,
-- for two transactions that do it in several may deadlock. Queues are neither looked up nor made
-- before a message is delivered.
-- Called by  applications, queen.transact, queen.timer_schedule, queen.timer_cancel
-- Locks      timers, ascending (queue, timer_key); waits
-- Returns    one row per operation, in order: scheduled, rescheduled (it took the place of one that
--            was there), cancelled, absent (there was nothing to cancel), or too_late (a broker is
--            about to deliver the one that is there, and nothing of it is changed); with the id
--            that the message will have and its transaction id, or that of what was cancelled
-- Raises     QN400 bad_request, QN403 timer_horizon_exceeded, QN409 queue_encrypted
-- Cost       7 statements and those of change_timers, for up to 1,000 timers
create or replace function queen.timer_apply(
    -- Per operation: schedule or reschedule, which are the same, or cancel, which needs no more
    -- than queue and key. A timer is changed at most once.
    p_ops text[], p_queues text[], p_timer_keys text[], p_payloads text[] default null,
    -- A time that has passed means at once.
    p_deliver_ats timestamptz[] default null, p_partitions text[] default null,
    p_transaction_ids text[] default null,
    -- Whether a message is dropped if its transaction id is in its lane when it is due.
    p_dedup boolean[] default null,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
    ordinal integer, status text, message_id uuid, transaction_id text, deliver_at timestamptz)
language plpgsql volatile parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_count integer := coalesce(cardinality(p_ops), 0);
    v_cancels boolean[];
    v_payloads text[];
    v_partitions text[] := coalesce(p_partitions, array_fill(null::text, array[v_count]));
    v_transaction_ids text[] := coalesce(
        p_transaction_ids, array_fill(null::text, array[v_count]));
    v_message_ids uuid[];
    v_horizon_seconds bigint;
    v_due timestamptz;
begin
    perform queen_store.require_number('number of timers', v_count, 0, 1000);
    if v_count = 0 then
        return;
    end if;
    -- 90 days, or what the tenant may.
    v_horizon_seconds := least(7776000, (
        select q.max_timer_horizon_seconds
        from queen_store.kv_quotas q
        where q.tenant_id = p_tenant));
    v_payloads := queen_store.require_timers(
        p_ops, p_queues, p_timer_keys, p_payloads, p_deliver_ats, v_partitions,
        v_transaction_ids, p_dedup, v_horizon_seconds);
    v_cancels := array(
        select i.op = 'cancel'
        from unnest(p_ops) with ordinality as i (op, ordinal)
        order by i.ordinal);
    if exists (
            select
            from unnest(p_queues, v_cancels) as i (queue, cancel)
            join queen_store.queues q
                on q.tenant_id = p_tenant and q.name = i.queue and q.deleted_at is null
            where not i.cancel and q.encryption_enabled) then
        raise exception using errcode = 'QN409', message = 'queue_encrypted',
            detail = 'only a broker holds the key: schedule for this queue over HTTP';
    end if;

    -- An empty partition or transaction id is an absent one.
    select array_agg(m.id order by m.ordinal),
           array_agg(coalesce(nullif(m.transaction_id, ''), m.id::text) order by m.ordinal),
           array_agg(coalesce(nullif(m.partition, ''), 'Default') order by m.ordinal)
    into v_message_ids, v_transaction_ids, v_partitions
    from (
        select i.ordinal, i.transaction_id, i.partition, queen_store.mint_uuid() as id
        from unnest(v_transaction_ids, v_partitions) with ordinality
            as i (transaction_id, partition, ordinal)
        offset 0) m;
    for ordinal, status, transaction_id, deliver_at in
        select c.ordinal, c.status, c.transaction_id, c.deliver_at
        from queen_store.change_timers(
            p_tenant, p_queues, p_timer_keys, v_cancels,
            array_fill(null::bigint, array[v_count]), p_deliver_ats, v_partitions,
            v_transaction_ids, v_message_ids,
            array(select convert_to(i.payload, 'UTF8')
                  from unnest(v_payloads) with ordinality as i (payload, ordinal)
                  order by i.ordinal),
            array_fill(false, array[v_count]), p_dedup, null) c
        order by c.ordinal
    loop
        message_id := case when deliver_at is not null then v_message_ids[ordinal] end;
        transaction_id := case when deliver_at is not null then v_transaction_ids[ordinal]
            else transaction_id end;
        v_due := least(v_due, deliver_at);
        return next;
    end loop;
    if v_due is not null and current_setting('queen.notify', true) is distinct from 'off' then
        perform pg_notify(
            'queen_hints', 't:' || floor(extract(epoch from v_due) * 1000)::bigint);
    end if;
end
$$;

comment on function queen.timer_apply(
    text[], text[], text[], text[], timestamptz[], text[], text[], boolean[], uuid) is
    'Schedules and cancels any number of timers as one step of the caller''s transaction. Locks: timers, ascending (queue, timer_key); waits.';

-- queen.timer_schedule: schedules messages, or replaces what is scheduled, within the caller's
-- transaction; see queen.timer_apply.
-- Called by  applications, queen.timer_schedule of one message
-- Locks      timers, ascending (queue, timer_key); waits
-- Returns    one row per message, in order: scheduled, rescheduled, or too_late (a broker is about
--            to deliver the one that is there); with the id that the message will have
-- Raises     QN400 bad_request, QN403 timer_horizon_exceeded, QN409 queue_encrypted
-- Cost       as queen.timer_apply
create or replace function queen.timer_schedule(
    p_queues text[], p_timer_keys text[], p_payloads text[], p_deliver_ats timestamptz[],
    p_partitions text[] default null, p_transaction_ids text[] default null,
    p_dedup boolean[] default null,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
    ordinal integer, status text, message_id uuid, transaction_id text, deliver_at timestamptz)
language plpgsql volatile parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select t.ordinal, t.status, t.message_id, t.transaction_id, t.deliver_at
    from queen.timer_apply(
        array_fill('schedule'::text, array[coalesce(cardinality(p_queues), 0)]), p_queues,
        p_timer_keys, p_payloads, p_deliver_ats, p_partitions, p_transaction_ids, p_dedup,
        p_tenant) t;
end
$$;

comment on function queen.timer_schedule(
    text[], text[], text[], timestamptz[], text[], text[], boolean[], uuid) is
    'Schedules messages within the transaction of the caller, or replaces what is scheduled. Locks: timers, ascending (queue, timer_key); waits.';

-- queen.timer_schedule: schedules one message; see the form for many.
-- Called by  applications
-- Locks      timers, one row; waits
-- Returns    one row: scheduled, rescheduled or too_late
-- Raises     QN400 bad_request, QN403 timer_horizon_exceeded, QN409 queue_encrypted
-- Cost       as the form for many
create or replace function queen.timer_schedule(
    p_queue text, p_timer_key text, p_payload text,
    -- A text stands fourth, or a call with four literals would not tell this form from the other.
    p_partition text default null, p_transaction_id text default null,
    -- One of the two.
    p_delay interval default null, p_deliver_at timestamptz default null,
    p_dedup boolean default false,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (status text, message_id uuid, transaction_id text, deliver_at timestamptz)
language plpgsql volatile parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    if (p_delay is null) = (p_deliver_at is null) then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = 'exactly one of p_delay and p_deliver_at says when';
    end if;
    return query
    select t.status, t.message_id, t.transaction_id, t.deliver_at
    from queen.timer_schedule(
        array[p_queue], array[p_timer_key], array[p_payload],
        -- Longer ones would lead out of the calendar, and are all the same: past, or too far ahead.
        array[coalesce(p_deliver_at, clock_timestamp() + greatest(
            interval '0', least(p_delay, interval '1000 years')))],
        array[p_partition],
        array[p_transaction_id], array[p_dedup], p_tenant) t;
end
$$;

comment on function queen.timer_schedule(
    text, text, text, text, text, interval, timestamptz, boolean, uuid) is
    'Schedules one message within the transaction of the caller. Locks: timers, one row; waits.';

-- queen.timer_cancel: cancels timers within the caller's transaction.
-- Called by  applications, queen.timer_cancel of one
-- Locks      timers, ascending (queue, timer_key); waits
-- Returns    one row per timer, in order: cancelled with the transactionId it had; absent (never
--            scheduled, or delivered already); or too_late (a broker is about to deliver it)
-- Raises     QN400 bad_request
-- Cost       as queen.timer_apply
create or replace function queen.timer_cancel(
    p_queues text[], p_timer_keys text[],
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (ordinal integer, status text, transaction_id text)
language plpgsql volatile parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select t.ordinal, t.status, t.transaction_id
    from queen.timer_apply(
        array_fill('cancel'::text, array[coalesce(cardinality(p_queues), 0)]), p_queues,
        p_timer_keys, p_tenant => p_tenant) t;
end
$$;

comment on function queen.timer_cancel(text[], text[], uuid) is
    'Cancels timers within the transaction of the caller. Locks: timers, ascending (queue, timer_key); waits.';

-- queen.timer_cancel: cancels one timer; see the form for many.
-- Called by  applications
-- Locks      timers, one row; waits
-- Returns    one row: cancelled, absent or too_late
-- Raises     QN400 bad_request
-- Cost       as the form for many
create or replace function queen.timer_cancel(
    p_queue text, p_timer_key text,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (status text, transaction_id text)
language plpgsql volatile parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select t.status, t.transaction_id
    from queen.timer_cancel(array[p_queue], array[p_timer_key], p_tenant) t;
end
$$;

comment on function queen.timer_cancel(text, text, uuid) is
    'Cancels one timer within the transaction of the caller. Locks: timers, one row; waits.';

-- queen.timer_get: one timer that is still to be delivered.
-- Called by  applications
-- Locks      none
-- Returns    one row, or none; payload is null where it is an encryption envelope
-- Raises     QN400 bad_request
-- Cost       1 statement, one index probe
create or replace function queen.timer_get(
    p_queue text, p_timer_key text,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
    timer_key text, partition text, deliver_at timestamptz, transaction_id text,
    message_id uuid, payload text, attempts integer, last_error text, claimed boolean)
language plpgsql stable parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform queen_store.require_timer_keys(array[p_queue], array[p_timer_key]);
    return query
    select t.timer_key, t.partition, t.deliver_at, t.transaction_id, t.message_id,
           queen_store.payload_text(
               (case when t.encrypted then 32 else 0 end)::smallint, t.payload),
           t.attempts, t.last_error, t.claimed
    from queen_store.read_timers(p_tenant, p_queue, array[p_timer_key], null, 1, true) t;
end
$$;

comment on function queen.timer_get(text, text, uuid) is
    'One timer that is still to be delivered. Locks: none.';

-- queen.timer_list: timers of a queue that are still to be delivered, in order of the bytes of
-- their keys; the next page begins behind the last key of this one.
-- Called by  applications
-- Locks      none
-- Returns    at most p_limit rows
-- Raises     QN400 bad_request
-- Cost       1 statement, one index range
create or replace function queen.timer_list(
    p_queue text, p_after text default null, p_limit integer default 100,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
    timer_key text, partition text, deliver_at timestamptz, transaction_id text,
    message_id uuid, payload text, attempts integer, last_error text, claimed boolean)
language plpgsql stable parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform queen_store.require_name('queue', p_queue, 1, 1024);
    perform queen_store.require_number('p_limit', p_limit, 1, 1000);
    return query
    select t.timer_key, t.partition, t.deliver_at, t.transaction_id, t.message_id,
           queen_store.payload_text(
               (case when t.encrypted then 32 else 0 end)::smallint, t.payload),
           t.attempts, t.last_error, t.claimed
    from queen_store.read_timers(p_tenant, p_queue, null, p_after, p_limit, true) t;
end
$$;

comment on function queen.timer_list(text, text, integer, uuid) is
    'Timers of a queue in order of their keys, a page at a time. Locks: none.';

-- queen_store.require_timer_keys: refuses timers that cannot be.
-- Called by  require_timers, queen.timer_get
-- Locks      none
-- Returns    nothing
-- Raises     QN400 bad_request
-- Cost       1 statement over the arguments
create or replace function queen_store.require_timer_keys(p_queues text[], p_timer_keys text[])
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_bad record;
begin
    if cardinality(p_timer_keys) is distinct from cardinality(p_queues) then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = 'every timer needs its queue and its key';
    end if;
    select i.queue, i.timer_key into v_bad
    from unnest(p_queues, p_timer_keys) with ordinality as i (queue, timer_key, ordinal)
    where i.queue is null or octet_length(i.queue) not between 1 and 1024
       or i.timer_key is null or octet_length(i.timer_key) not between 1 and 512
    order by i.ordinal
    limit 1;
    if found then
        perform queen_store.require_name('queue', v_bad.queue, 1, 1024);
        perform queen_store.require_name('timer key', v_bad.timer_key, 1, 512);
    end if;
end
$$;

comment on function queen_store.require_timer_keys(text[], text[]) is
    'Refuses timers without a queue or a key, or with one too long. Locks: none.';

-- queen_store.require_timers: refuses a call of queen.timer_apply with an operation that cannot be.
-- Called by  queen.timer_apply
-- Locks      none
-- Returns    the payloads; of what is cancelled null as JSON
-- Raises     QN400 bad_request, QN403 timer_horizon_exceeded
-- Cost       6 statements over the arguments
create or replace function queen_store.require_timers(
    p_ops text[], p_queues text[], p_timer_keys text[], p_payloads text[],
    p_deliver_ats timestamptz[], p_partitions text[], p_transaction_ids text[],
    p_dedup boolean[],
    -- How far ahead a message may be scheduled.
    p_horizon_seconds bigint)
returns text[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count integer := cardinality(p_ops);
    v_latest timestamptz := clock_timestamp() + make_interval(secs => p_horizon_seconds);
    v_payloads text[];
    v_bad record;
begin
    if cardinality(p_queues) is distinct from v_count
            or cardinality(p_payloads) <> v_count or cardinality(p_deliver_ats) <> v_count
            or cardinality(p_partitions) <> v_count or cardinality(p_transaction_ids) <> v_count
            or cardinality(p_dedup) <> v_count then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = format('every array must have one element per timer, %s of them', v_count);
    end if;
    select i.ordinal, i.op into v_bad
    from unnest(p_ops) with ordinality as i (op, ordinal)
    where (i.op in ('schedule', 'reschedule', 'cancel')) is not true
    order by i.ordinal
    limit 1;
    if found then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = format(
                'operation %s must be schedule, reschedule or cancel, got %s', v_bad.ordinal,
                coalesce(v_bad.op, 'null'));
    end if;
    perform queen_store.require_timer_keys(p_queues, p_timer_keys);
    v_payloads := array(
        select case when i.op = 'cancel' then 'null' else i.payload end
        from unnest(p_ops, p_payloads) with ordinality as i (op, payload, ordinal)
        order by i.ordinal);
    perform queen_store.require_messages(
        p_queues, p_partitions, v_payloads, p_transaction_ids,
        array_fill(null::uuid, array[v_count]));
    perform queen_store.require_number(
        'bytes of payload', max(octet_length(i.payload)), 1, 1048576)
    from unnest(v_payloads) as i (payload);
    select i.ordinal, i.deliver_at into v_bad
    from unnest(p_ops, p_deliver_ats) with ordinality as i (op, deliver_at, ordinal)
    where i.op <> 'cancel' and (i.deliver_at is null or i.deliver_at > v_latest)
    order by i.ordinal
    limit 1;
    if v_bad.deliver_at is not null then
        raise exception using errcode = 'QN403', message = 'timer_horizon_exceeded',
            detail = format('a message can be scheduled up to %s s ahead', p_horizon_seconds);
    end if;
    if v_bad.ordinal is not null then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = format('message %s has no time', v_bad.ordinal);
    end if;
    return v_payloads;
end
$$;

comment on function queen_store.require_timers(
    text[], text[], text[], text[], timestamptz[], text[], text[], boolean[], bigint) is
    'Refuses operations on timers that cannot be. Locks: none.';

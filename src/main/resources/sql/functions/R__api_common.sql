-- What the API functions of schema queen share: refusals and wake-ups.

-- queen_store.require_name: refuses a name that no queue, lane, group or message may carry.
-- Called by  require_messages, require_acks, require_lane, require_queue, require_timer_keys,
--            queen.pop, queen.ack, queen.message, queen.timer_list
-- Locks      none
-- Returns    nothing
-- Raises     QN400 bad_request
-- Cost       no statement
create or replace function queen_store.require_name(
    p_field text, p_value text, p_bytes_min integer, p_bytes_max integer)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_value is null then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = format('%s is missing', p_field);
    end if;
    if octet_length(p_value) not between p_bytes_min and p_bytes_max then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = format('%s must be %s to %s bytes of UTF-8, got %s',
                p_field, p_bytes_min, p_bytes_max, octet_length(p_value));
    end if;
end
$$;

comment on function queen_store.require_name(text, text, integer, integer) is
    'Refuses a name that is missing, too short or too long. Locks: none.';

-- queen_store.require_number: refuses a number outside its range.
-- Called by  queen.push, queen.pop, queen.ack, queen.transact, queen.kv_list, require_kv,
--            queen.read, queen.message, queen.violations, queen.timer_apply,
--            queen.timer_list, require_timers, queen.leases_in, queen.expiring_in
-- Locks      none
-- Returns    nothing
-- Raises     QN400 bad_request
-- Cost       no statement
create or replace function queen_store.require_number(
    p_field text, p_value bigint, p_min bigint, p_max bigint)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_value is null or p_value not between p_min and p_max then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = format('%s must be %s to %s, got %s',
                p_field, p_min, p_max, coalesce(p_value::text, 'null'));
    end if;
end
$$;

comment on function queen_store.require_number(text, bigint, bigint, bigint) is
    'Refuses a number that is missing or outside its range. Locks: none.';

-- queen.wake: tells the brokers, at the commit of this transaction, that lanes have work. Brokers
-- would find it without, by their slow walk over the lanes; "set queen.notify = off" leaves it to
-- that (needed for two-phase commit, advisable above some 1,000 transactions a second, because
-- NOTIFY makes commits queue up behind one lock).
-- Called by  queen.push, queen.ack, queen.transact
-- Locks      none; a notifying commit takes one lock of the database
-- Returns    nothing
-- Cost       no table read; lane numbers while they fit into one notification, else queue numbers
create or replace function queen.wake(p_partition_ids bigint[], p_queue_ids integer[])
returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_lanes text;
begin
    if current_setting('queen.notify', true) = 'off'
            or coalesce(cardinality(p_partition_ids), 0) = 0 then
        return;
    end if;
    select 'p:' || string_agg(distinct i.partition_id::text, ',') into v_lanes
    from unnest(p_partition_ids) as i (partition_id);
    if octet_length(v_lanes) <= 7900 then
        perform pg_notify('queen_hints', v_lanes);
    else
        perform pg_notify('queen_hints', 'q:' || i.queue_id)
        from (select distinct q.queue_id from unnest(p_queue_ids) as q (queue_id)) i;
    end if;
end
$$;

comment on function queen.wake(bigint[], integer[]) is
    'Tells the brokers, at commit, that lanes have work, unless queen.notify is off. Locks: none; a notifying commit takes one lock of the database.';

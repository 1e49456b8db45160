-- queen.push: messages stored in the caller's own transaction.

-- queen_store.provision_lanes: the lanes of one call of the SQL API, made where missing. Unlike the
-- broker, an application's transaction waits when another one is making the same name.
-- Called by  queen.push, replay_dead_letter
-- Locks      advisory on the names of missing queues, then of missing lanes, by name, waits; queues
--            and partitions: new rows
-- Returns    one row per input, in order
-- Raises     QN503 busy
-- Cost       3 statements for each 256 names; 5 more where one is being made
create or replace function queen_store.provision_lanes(
    p_tenant_id uuid, p_queues text[], p_partitions text[])
returns table (ordinal integer, queue_id integer, partition_id bigint)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_from integer := 1;
    v_tenant_ids uuid[];
    v_queues text[];
    v_partitions text[];
    v_queue_ids integer[];
    v_partition_ids bigint[];
begin
    while v_from <= cardinality(p_queues) loop
        v_queues := p_queues[v_from : v_from + 255];
        v_partitions := p_partitions[v_from : v_from + 255];
        v_tenant_ids := array_fill(p_tenant_id, array[cardinality(v_queues)]);
        for v_attempt in 1 .. 2 loop
            select array_agg(l.queue_id order by l.ordinal),
                   array_agg(l.partition_id order by l.ordinal)
            into v_queue_ids, v_partition_ids
            from queen_store.ensure_lanes(v_tenant_ids, v_queues, v_partitions) l;
            exit when array_position(v_partition_ids, null) is null;
            perform queen_store.lock_lane_names(p_tenant_id, v_queues, v_partitions);
        end loop;
        if array_position(v_partition_ids, null) is not null then
            raise exception using errcode = 'QN503', message = 'busy',
                detail = 'another transaction is creating the same queue or partition';
        end if;
        return query
        select (v_from - 1 + l.ordinal)::integer, l.queue_id, l.partition_id
        from unnest(v_queue_ids, v_partition_ids) with ordinality
            as l (queue_id, partition_id, ordinal);
        v_from := v_from + 256;
    end loop;
end
$$;

comment on function queen_store.provision_lanes(uuid, text[], text[]) is
    'The lanes of one call of the SQL API, made where missing; waits for another who makes them. Locks: advisory on the names of missing queues, then of missing lanes, by name, waits; queues and partitions: new rows.';

-- queen_store.find_originals: which of these keys their lanes already hold since an instant. Reads
-- every key of that time, so it is exact without the memory that a broker has.
-- A lane without an instant is not searched, nor is one without a key to look for.
-- Called by  queen.push, under the locks of the lanes; replay_dead_letter
-- Locks      none
-- Returns    one row per key found: its ordinal and the lowest offset
-- Cost       1 statement and start_committed per lane; reads 16 bytes per message the lane took
--            since the instant
create or replace function queen_store.find_originals(
    p_partition_ids bigint[], p_last_offsets bigint[], p_since timestamptz[],
    p_lanes integer[], p_keys bytea[])
returns table (ordinal integer, "offset" bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    return query
    select k.ordinal::integer, min(s.base_offset + n.position)
    from unnest(p_partition_ids, p_last_offsets, p_since) with ordinality
        as l (partition_id, last_offset, since, lane)
    cross join lateral (
        select p.last_write_at
        from queen_store.partitions p
        where p.id = l.partition_id) p
    -- read_keys looks at the time behind its limit, so the walk must be told where to end. That is
    -- sought from 0 and not from log_start: a key counts when its payload is long gone.
    cross join lateral queen_store.read_keys(
        l.partition_id,
        queen_store.start_committed(
            l.partition_id, 0::bigint, l.last_offset, p.last_write_at, 'instant', l.since) + 1,
        l.last_offset, l.since, 2147483647) s
    -- One detoast per segment, not one per key.
    cross join lateral (select s.keys || ''::bytea as keys offset 0) d
    cross join lateral generate_series(0, (s.end_offset - s.base_offset)::integer) as n (position)
    join unnest(p_lanes, p_keys) with ordinality as k (lane, key, ordinal)
        on k.lane = l.lane and k.key = substr(d.keys, n.position * 16 + 1, 16)
    where l.since is not null
      and exists (
          select from unnest(p_lanes, p_keys) as w (lane, key)
          where w.lane = l.lane and w.key is not null)
    group by k.ordinal;
end
$$;

comment on function queen_store.find_originals(
    bigint[], bigint[], timestamptz[], integer[], bytea[]) is
    'Which of these keys their lanes already hold since an instant, and at what offset. Locks: none.';

-- queen.push: stores messages in the caller's transaction: they appear with its commit or not at
-- all. A transaction id that its lane took within the dedup window is not stored again. Queues and
-- partitions are made where missing. The payload is JSON as text, so that every byte is kept: jsonb
-- would drop white space, repeated keys and the spelling of numbers. The lanes stay locked until
-- the transaction ends: push many messages in one call, for two transactions that push to the same
-- lanes in several calls may deadlock.
-- Called by  applications, queen.push of one message, queen.transact
-- Locks      advisory on the names of missing queues and lanes; queues and partitions: new rows;
--            partitions, ascending id; waits
-- Returns    one row per message, in order: queued, or duplicate with the id and offset of the
--            original
-- Raises     QN400 bad_request, QN409 queue_encrypted, QN503 busy
-- Cost       some 12 statements for up to 10,000 messages in up to 1,024 lanes; with transaction
--            ids also 16 bytes read per message the lane took within its dedup window
create or replace function queen.push(
    p_queues text[], p_partitions text[], p_payloads text[],
    p_transaction_ids text[] default null, p_trace_ids uuid[] default null,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
    ordinal integer, status text, message_id uuid, transaction_id text, partition_id uuid,
    "offset" bigint)
language plpgsql volatile parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
-- Planning anew for each call costs more than the call.
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_count integer := coalesce(cardinality(p_queues), 0);
    -- Per message. A leader is the first of its lane with that transaction id.
    v_partitions text[];
    v_transaction_ids text[];
    v_trace_ids uuid[] := coalesce(p_trace_ids, array_fill(null::uuid, array[v_count]));
    v_lanes integer[];
    v_leaders integer[];
    v_originals bigint[];
    -- Per lane, in order of (queue, partition).
    v_lane_queues text[];
    v_lane_partitions text[];
    v_lane_queue_ids integer[];
    v_lane_numbers bigint[];
    v_lane_offsets bigint[];
    v_lane_since timestamptz[];
    -- Per lane that gets messages: what append takes, and what it answered.
    v_batch_lanes integer[];
    v_segment_batches integer[];
    v_segment_counts integer[];
    v_keys bytea[];
    v_frames bytea[];
    v_base_offsets bigint[];
    v_created_ats timestamptz[];
begin
    perform queen_store.require_number('number of messages', v_count, 0, 10000);
    if v_count = 0 then
        return;
    end if;
    perform queen_store.require_messages(
        p_queues, p_partitions, p_payloads, p_transaction_ids, v_trace_ids);

    -- An empty partition or transaction id is an absent one.
    with message as (
        select i.ordinal::integer as ordinal, i.queue,
               coalesce(nullif(i.partition, ''), 'Default') as partition,
               nullif(i.transaction_id, '') as transaction_id
        from unnest(p_queues, p_partitions, coalesce(
                p_transaction_ids, array_fill(null::text, array[v_count]))) with ordinality
            as i (queue, partition, transaction_id, ordinal)),
    placed as (
        select m.*, dense_rank() over (order by m.queue, m.partition)::integer as lane,
               case when m.transaction_id is null then m.ordinal
                    else min(m.ordinal) over (
                        partition by m.queue, m.partition, m.transaction_id)
               end as leader
        from message m)
    select array_agg(p.partition order by p.ordinal),
           array_agg(p.transaction_id order by p.ordinal),
           array_agg(p.lane order by p.ordinal),
           array_agg(p.leader order by p.ordinal)
    into v_partitions, v_transaction_ids, v_lanes, v_leaders
    from placed p;
    select array_agg(l.queue order by l.lane), array_agg(l.partition order by l.lane)
    into v_lane_queues, v_lane_partitions
    from (
        select distinct u.lane, u.queue, u.partition
        from unnest(v_lanes, p_queues, v_partitions) as u (lane, queue, partition)) l;
    perform queen_store.require_number('number of lanes', cardinality(v_lane_queues), 1, 1024);

    select array_agg(l.queue_id order by l.ordinal), array_agg(l.partition_id order by l.ordinal)
    into v_lane_queue_ids, v_lane_numbers
    from queen_store.provision_lanes(p_tenant, v_lane_queues, v_lane_partitions) l;
    if exists (
            select from queen_store.queues q
            where q.id = any (v_lane_queue_ids) and q.encryption_enabled) then
        raise exception using errcode = 'QN409', message = 'queue_encrypted',
            detail = 'only a broker holds the key: push to this queue over HTTP';
    end if;

    perform 1
    from queen_store.partitions p
    where p.id = any (v_lane_numbers)
    order by p.id
    for no key update;
    select array_agg(p.last_offset order by l.lane),
           array_agg(case when q.dedup_window_seconds > 0
                         then clock_timestamp() - make_interval(secs => q.dedup_window_seconds)
                     end order by l.lane)
    into v_lane_offsets, v_lane_since
    from unnest(v_lane_numbers) with ordinality as l (number, lane)
    left join lateral (
        select p.queue_id, p.last_offset
        from queen_store.partitions p
        where p.id = l.number
        limit 1) p on true
    left join lateral (
        select q.dedup_window_seconds
        from queen_store.queues q
        where q.id = p.queue_id
        limit 1) q on true;

    -- A key that is minted here cannot be there already, so only given ones are looked for.
    v_originals := array_fill(null::bigint, array[v_count]);
    if v_transaction_ids <> array_fill(null::text, array[v_count]) then
        select array_agg(o."offset" order by i.ordinal)
        into v_originals
        from generate_series(1, v_count) as i (ordinal)
        left join queen_store.find_originals(
            v_lane_numbers, v_lane_offsets, v_lane_since, v_lanes,
            array(select queen_store.key_of(t.transaction_id)
                  from unnest(v_transaction_ids) with ordinality as t (transaction_id, ordinal)
                  order by t.ordinal)) o on o.ordinal = i.ordinal;
    end if;

    with batch as (
        select i.lane, row_number() over (order by i.lane)::integer as batch,
               array_agg(i.transaction_id order by i.ordinal) as transaction_ids,
               array_agg(convert_to(i.payload, 'UTF8') order by i.ordinal) as payloads,
               array_agg(i.trace_id order by i.ordinal) as trace_ids
        from unnest(v_lanes, v_transaction_ids, p_payloads, v_trace_ids, v_leaders, v_originals)
            with ordinality
            as i (lane, transaction_id, payload, trace_id, leader, original, ordinal)
        where i.leader = i.ordinal and i.original is null
        group by i.lane),
    segment as (
        select b.batch, e.ordinality, e.message_count, e.keys, e.frames
        from batch b
        cross join lateral queen_store.encode_frames(
            b.transaction_ids, b.payloads, b.trace_ids, null, null) with ordinality e)
    select array_agg(s.batch order by s.batch, s.ordinality),
           array_agg(s.message_count order by s.batch, s.ordinality),
           array_agg(s.keys order by s.batch, s.ordinality),
           array_agg(s.frames order by s.batch, s.ordinality),
           (select array_agg(b.lane order by b.batch) from batch b)
    into v_segment_batches, v_segment_counts, v_keys, v_frames, v_batch_lanes
    from segment s;

    if v_batch_lanes is not null then
        -- Under the locks and after the search, this call vouches for all there is.
        select array_agg(a.base_offset order by a.ordinal),
               array_agg(a.created_at order by a.ordinal)
        into v_base_offsets, v_created_ats
        from queen_store.append(
            array(select v_lane_numbers[b.lane]
                  from unnest(v_batch_lanes) with ordinality as b (lane, batch)
                  order by b.batch),
            array(select hashtextextended(gen_random_uuid()::text, 0)
                  from unnest(v_batch_lanes)),
            array_fill(-1::bigint, array[cardinality(v_batch_lanes)]),
            array(select v_lane_offsets[b.lane]
                  from unnest(v_batch_lanes) with ordinality as b (lane, batch)
                  order by b.batch),
            array_fill(null::bigint, array[cardinality(v_batch_lanes)]),
            v_segment_batches, v_segment_counts, v_keys, v_frames, true) a;
        if array_position(v_base_offsets, null) is not null then
            raise exception using errcode = 'QN503', message = 'busy',
                detail = 'a queue of this call was deleted meanwhile';
        end if;
        perform queen_store.add_counts(
            array_agg(v_lane_queue_ids[v_batch_lanes[s.batch]]), array_agg(0), null,
            array_agg(s.messages::bigint), null, null, null, null,
            array_agg((octet_length(s.keys) + octet_length(s.frames))::bigint), false)
        from unnest(v_segment_batches, v_segment_counts, v_keys, v_frames)
            as s (batch, messages, keys, frames);
        perform queen.wake(
            array(select v_lane_numbers[b.lane] from unnest(v_batch_lanes) as b (lane)),
            array(select v_lane_queue_ids[b.lane] from unnest(v_batch_lanes) as b (lane)));
    end if;

    return query
    with stored as (
        -- Keys stand in the order of the messages, segment by segment.
        select b.lane, b.batch, k.keys
        from unnest(v_batch_lanes) with ordinality as b (lane, batch)
        join (
            select s.batch, string_agg(s.keys, '' order by s.ordinal) as keys
            from unnest(v_segment_batches, v_keys) with ordinality as s (batch, keys, ordinal)
            group by s.batch) k on k.batch = b.batch),
    leader as (
        select i.ordinal, i.lane, i.transaction_id, i.original,
               row_number() over (partition by i.lane, i.original is null order by i.ordinal)
                   ::integer - 1 as position
        from unnest(v_lanes, v_transaction_ids, v_leaders, v_originals) with ordinality
            as i (lane, transaction_id, leader, original, ordinal)
        where i.leader = i.ordinal),
    outcome as (
        select l.ordinal, l.lane, 'queued' as status,
               v_base_offsets[s.batch] + l.position as "offset",
               case when l.transaction_id is null
                   then encode(substr(s.keys, l.position * 16 + 1, 16), 'hex')::uuid
                   else queen_store.message_id(
                       v_created_ats[s.batch], v_lane_numbers[l.lane],
                       v_base_offsets[s.batch] + l.position)
               end as id
        from leader l
        join stored s on s.lane = l.lane
        where l.original is null
        union all
        select l.ordinal, l.lane, 'duplicate', l.original, m.message_id
        from leader l
        cross join lateral queen_store.message_at(v_lane_numbers[l.lane], l.original) m
        where l.original is not null)
    select i.ordinal::integer,
           case when i.leader = i.ordinal then o.status else 'duplicate' end, o.id,
           coalesce(i.transaction_id, o.id::text),
           queen_store.partition_uuid(v_lane_numbers[o.lane]), o."offset"
    from unnest(v_transaction_ids, v_leaders) with ordinality
        as i (transaction_id, leader, ordinal)
    join outcome o on o.ordinal = i.leader
    order by i.ordinal;
end
$$;

comment on function queen.push(text[], text[], text[], text[], uuid[], uuid) is
    'Stores messages within the transaction of the caller: one row per message, in order. Locks: advisory on the names of missing queues and lanes; queues and partitions: new rows; partitions, ascending id; waits.';

-- queen_store.is_json: whether a text is JSON, by the parser of the server.
-- Called by  require_messages
-- Locks      none
-- Returns    true or false; false also for what is nested too deep to be parsed
-- Cost       one parse and one subtransaction, some 2 us
create or replace function queen_store.is_json(p_text text)
returns boolean
language plpgsql immutable parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    perform p_text::json;
    return true;
exception when invalid_text_representation or statement_too_complex then
    return false;
end
$$;

comment on function queen_store.is_json(text) is 'Whether a text is JSON. Locks: none.';

-- queen_store.require_messages: refuses a call of queen.push with a message it cannot store.
-- Called by  queen.push, require_timers
-- Locks      none
-- Returns    nothing
-- Raises     QN400 bad_request
-- Cost       1 statement over the arguments
create or replace function queen_store.require_messages(
    p_queues text[], p_partitions text[], p_payloads text[], p_transaction_ids text[],
    p_trace_ids uuid[])
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count integer := cardinality(p_queues);
    v_bad record;
begin
    if cardinality(p_partitions) is distinct from v_count
            or cardinality(p_payloads) is distinct from v_count
            or cardinality(p_trace_ids) is distinct from v_count
            or cardinality(p_transaction_ids) <> v_count then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = format('every array must have one element per message, %s of them', v_count);
    end if;
    select i.ordinal, i.queue, i.partition, i.transaction_id, i.payload into v_bad
    from unnest(p_queues, p_partitions, p_payloads, p_transaction_ids) with ordinality
        as i (queue, partition, payload, transaction_id, ordinal)
    where i.queue is null or octet_length(i.queue) not between 1 and 1024
       or octet_length(i.partition) > 1024
       or octet_length(i.transaction_id) > 65535
       or i.payload is null or not queen_store.is_json(i.payload)
    order by i.ordinal
    limit 1;
    if found then
        perform queen_store.require_name('queue', v_bad.queue, 1, 1024);
        perform queen_store.require_name('partition', coalesce(v_bad.partition, ''), 0, 1024);
        perform queen_store.require_name(
            'transaction id', coalesce(v_bad.transaction_id, ''), 0, 65535);
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = format('payload of message %s is %s', v_bad.ordinal, case
                when v_bad.payload is null then 'missing; JSON null is written ''null'''
                else 'not JSON: a text needs its double quotes' end);
    end if;
end
$$;

comment on function queen_store.require_messages(text[], text[], text[], text[], uuid[]) is
    'Refuses messages that queen.push cannot store. Locks: none.';

-- queen.push: stores one message in the caller's transaction; see the form for many.
-- Called by  applications
-- Locks      advisory on the names of a missing queue and lane; queues and partitions: new rows;
--            partitions: one row; waits
-- Returns    one row: queued, or duplicate with the id and offset of the original
-- Raises     QN400 bad_request, QN409 queue_encrypted, QN503 busy
-- Cost       as the form for many
create or replace function queen.push(
    p_queue text, p_partition text, p_payload text, p_transaction_id text default null,
    p_trace_id uuid default null, p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
    status text, message_id uuid, transaction_id text, partition_id uuid, "offset" bigint)
language plpgsql volatile parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    select p.status, p.message_id, p.transaction_id, p.partition_id, p."offset"
    from queen.push(
        array[p_queue], array[p_partition], array[p_payload], array[p_transaction_id],
        array[p_trace_id], p_tenant) p;
end
$$;

comment on function queen.push(text, text, text, text, uuid, uuid) is
    'Stores one message within the transaction of the caller. Locks: advisory on the names of a missing queue and lane; queues and partitions: new rows; partitions: one row; waits.';

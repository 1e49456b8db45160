-- Transactions: keys, timers, pushes and acknowledgements that take effect together or not at all.
-- The parts of a bundle run in the lock order of the product, so bundles do not wait for each other
-- in a circle.

-- queen_store.ack_bundle: the acknowledgements of a bundle. An ack that names no lease is judged by
-- the leases that the bundle names elsewhere: the holder of the cursor must be among them, or else
-- the holder of the batch acknowledged last, whose acks are repetitions. A lease that somebody else
-- took over never passes, nor one for a message that it gave back. Where the bundle names no lease
-- at all, none is asked for.
-- Called by  transact, queen.transact
-- Locks      cursors ascending (partition_id, group_id); waits; groups at a group's first ack ever,
--            skip locked
-- Returns    one row per item as ack_messages, but beyond_batch for an id that lies behind the
--            leased batch; done, noop and stale are carried out, anything else is
--            not, and busy (the cursor was placed while the call waited for others) may be when it
--            comes again
-- Cost       1 statement and those of ack_messages; for ids that are not in their batch 1 more,
--            which reads the keys of at most 100,000 messages ahead of the cursor
create or replace function queen_store.ack_bundle(
    p_tenant_id uuid, p_partition_ids bigint[], p_group_names text[],
    -- Of each unit, one (lane, group): the lease its acks name, null = none.
    p_lease_ids uuid[],
    -- Every lease that the bundle names.
    p_supplied_lease_ids uuid[],
    p_units integer[], p_keys bytea[], p_statuses smallint[], p_errors text[])
returns table (
    item integer, verdict text, lease_released boolean, dead_lettered boolean,
    partition_id bigint, group_id integer, queue_id integer, committed bigint, last_offset bigint,
    conflated bigint, passed bigint, ended bigint, filed bigint)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_window_messages constant bigint := 100000;
    -- Per unit.
    v_lease_ids uuid[];
    -- Per item.
    v_verdicts text[];
    v_released boolean[];
    v_dead_lettered boolean[];
    v_partition_ids bigint[];
    v_group_ids integer[];
    v_queue_ids integer[];
    v_committed bigint[];
    v_last_offsets bigint[];
    v_conflated bigint[];
    v_passed bigint[];
    v_ended bigint[];
    v_filed bigint[];
    v_offsets bigint[];
begin
    -- Read without the lock: ack_messages holds the cursor when it compares, so what changed since
    -- is refused there.
    select array_agg(
        case
            -- The earlier of two leases of one holder does not hide the one that is still alive.
            when u.lease_id is not null
                and (u.lease_id = c.prev_lease and c.lease_id = any (p_supplied_lease_ids))
                    is not true
            then u.lease_id
            when c.lease_id = any (p_supplied_lease_ids) then c.lease_id
            when c.prev_lease = any (p_supplied_lease_ids) then c.prev_lease
            else p_supplied_lease_ids[1]
        end
        order by u.unit)
    into v_lease_ids
    from unnest(p_partition_ids, p_group_names, p_lease_ids) with ordinality
        as u (partition_id, group_name, lease_id, unit)
    left join lateral (
        select p.queue_id
        from queen_store.partitions p
        where p.id = u.partition_id
        limit 1) p on true
    left join lateral (
        select g.id
        from queen_store.groups g
        where g.queue_id = p.queue_id and g.name = u.group_name
        limit 1) g on true
    left join lateral (
        select c.lease_id, c.prev_lease
        from queen_store.cursors c
        where c.partition_id = u.partition_id and c.group_id = g.id
        limit 1) c on true;
    if v_lease_ids is null then
        return;
    end if;

    select array_agg(a.verdict order by a.item), array_agg(a.lease_released order by a.item),
           array_agg(a.dead_lettered order by a.item), array_agg(a.partition_id order by a.item),
           array_agg(a.group_id order by a.item), array_agg(a.queue_id order by a.item),
           array_agg(a.committed order by a.item), array_agg(a.last_offset order by a.item),
           array_agg(a.conflated order by a.item), array_agg(a.passed order by a.item),
           array_agg(a.ended order by a.item), array_agg(a.filed order by a.item)
    into v_verdicts, v_released, v_dead_lettered, v_partition_ids, v_group_ids, v_queue_ids,
         v_committed, v_last_offsets, v_conflated, v_passed, v_ended, v_filed
    from queen_store.ack_messages(
        array_fill(p_tenant_id, array[cardinality(p_partition_ids)]), p_partition_ids,
        p_group_names, v_lease_ids, p_units, p_keys, p_statuses, p_errors, true) a;

    if 'unresolvable' = any (v_verdicts) then
        v_offsets := queen_store.find_offsets(
            r.units, r.partition_ids, r.epochs, r.from_offsets, r.to_offsets, r.since, p_units,
            p_keys)
        from (
            select array_agg(d.unit) as units, array_agg(d.partition_id) as partition_ids,
                   array_agg(0) as epochs, array_agg(d.from_offset) as from_offsets,
                   array_agg(d.to_offset) as to_offsets, array_agg(null::timestamptz) as since
            from (
                select distinct i.unit, i.partition_id, i.committed + 1 as from_offset,
                       least(i.last_offset, i.committed + v_window_messages) as to_offset
                from unnest(p_units, v_verdicts, v_partition_ids, v_committed, v_last_offsets)
                    as i (unit, verdict, partition_id, committed, last_offset)
                where i.verdict = 'unresolvable' and i.committed < i.last_offset) d) r;
    end if;

    return query
    select i.item::integer,
           case when i.verdict = 'unresolvable' and i."offset" is not null then 'beyond_batch'
                else i.verdict end,
           i.released, i.dead_lettered, i.partition_id, i.group_id, i.queue_id, i.committed,
           i.last_offset, i.conflated, i.passed, i.ended, i.filed
    from unnest(p_units, v_verdicts, v_released, v_dead_lettered, v_partition_ids, v_group_ids,
                v_queue_ids, v_committed, v_last_offsets, v_conflated, v_passed, v_ended, v_filed,
                v_offsets)
        with ordinality as i (
            unit, verdict, released, dead_lettered, partition_id, group_id, queue_id, committed,
            last_offset, conflated, passed, ended, filed, "offset", item)
    order by i.item;
end
$$;

comment on function queen_store.ack_bundle(
    uuid, bigint[], text[], uuid[], uuid[], integer[], bytea[], smallint[], text[]) is
    'Acknowledgements of a bundle, each under the lease it names or the bundle names for it. Locks: cursors ascending (partition_id, group_id); waits; groups at a group''s first ack ever, skip locked.';

-- queen_store.hold_leases: whether the leases that a bundle names and by which none of its acks
-- goes are held, which then stays so until it has ended. One that has ended with the ack of its
-- batch passes until the next one of its lane does: the bundle may be the repetition of what ended
-- it.
-- Called by  transact, queen.transact
-- Locks      cursors ascending (partition_id, group_id); waits
-- Returns    false = one of them has run out, was taken over or never was
-- Cost       3 statements, primary keys only: a lease id carries its lane's number, or 0 and has a
--            row in leases
create or replace function queen_store.hold_leases(
    p_tenant_id uuid, p_lease_ids uuid[],
    -- Of these, those that acks go by.
    p_ack_lease_ids uuid[],
    -- Cursors that wait to be acknowledged.
    p_partition_ids bigint[], p_group_names text[])
returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
    v_partition_ids bigint[];
    v_group_ids integer[];
    v_now timestamptz;
begin
    select array_agg(k.partition_id order by k.partition_id, k.group_id),
           array_agg(k.group_id order by k.partition_id, k.group_id)
    into v_partition_ids, v_group_ids
    from (
        select c.partition_id, c.group_id
        from unnest(p_lease_ids) l (lease_id)
        cross join lateral unnest(
            case when queen_store.lease_number(l.lease_id) > 0
                 then array[queen_store.lease_number(l.lease_id)]
                 else (
                     select s.partition_ids
                     from queen_store.leases s
                     where s.lease_id = l.lease_id)
            end) i (partition_id)
        cross join lateral (
            select c.partition_id, c.group_id
            from queen_store.cursors c
            where c.partition_id = i.partition_id
              and (c.lease_id = l.lease_id or c.prev_lease = l.lease_id)) c
        union
        select u.partition_id, g.id
        from unnest(p_partition_ids, p_group_names) u (partition_id, group_name)
        cross join lateral (
            select p.queue_id
            from queen_store.partitions p
            where p.id = u.partition_id
            limit 1) p
        -- Who guesses the number of another tenant's lane holds up nobody there. Whoever knows a
        -- lease id of another tenant has it from there.
        cross join lateral (
            select 1
            from queen_store.queues q
            where q.id = p.queue_id and q.tenant_id = p_tenant_id
            limit 1) q
        cross join lateral (
            select g.id
            from queen_store.groups g
            where g.queue_id = p.queue_id and g.name = u.group_name
            limit 1) g) k;

    perform 1
    from unnest(v_partition_ids, v_group_ids) i (partition_id, group_id)
    cross join lateral (
        select 1
        from queen_store.cursors c
        where c.partition_id = i.partition_id and c.group_id = i.group_id
        for no key update) c;
    v_now := clock_timestamp();

    return not exists (
        select
        from unnest(p_lease_ids) l (lease_id)
        where l.lease_id <> all (p_ack_lease_ids)
          and not exists (
            select
            from unnest(v_partition_ids, v_group_ids) i (partition_id, group_id)
            cross join lateral (
                select c.generation, c.lease_id, c.prev_lease, c.lease_expires_at
                from queen_store.cursors c
                where c.partition_id = i.partition_id and c.group_id = i.group_id
                limit 1) c
            cross join lateral (
                select p.queue_id
                from queen_store.partitions p
                where p.id = i.partition_id
                limit 1) p
            cross join lateral (
                select q.tenant_id, q.deleted_at
                from queen_store.queues q
                where q.id = p.queue_id
                limit 1) q
            cross join lateral (
                select g.generation
                from queen_store.groups g
                where g.id = i.group_id
                limit 1) g
            where ((c.prev_lease = l.lease_id and c.lease_id is null)
                    or (c.lease_id = l.lease_id and c.lease_expires_at > v_now))
              and q.tenant_id = p_tenant_id and q.deleted_at is null
              and g.generation = c.generation));
end
$$;

comment on function queen_store.hold_leases(uuid, uuid[], uuid[], bigint[], text[]) is
    'Whether leases that a bundle names and by which none of its acks goes are held. Locks: cursors ascending (partition_id, group_id); waits.';

-- queen_store.settled_acks: what the acknowledgements of a bundle did that has committed, for a
-- broker that lost the answer.
-- Called by  transact
-- Locks      none
-- Returns    one row per item as ack_bundle; lease_released = nobody has the cursor now
-- Cost       1 statement, index probes per item
create or replace function queen_store.settled_acks(
    p_partition_ids bigint[], p_group_names text[], p_units integer[], p_keys bytea[],
    p_statuses smallint[],
    -- The transaction that was the bundle. By its number the rows it wrote are told from others,
    -- whatever their times say: the clock may have stepped back, and created_at waits for it then.
    p_written_by xid)
returns table (
    item integer, lease_released boolean, dead_lettered boolean, partition_id bigint,
    group_id integer, queue_id integer, committed bigint, last_offset bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    select i.item::integer, c.lease_id is null,
           i.status <> 0 and exists (
               select
               from queen_store.dead_letters l
               where l.partition_id = u.partition_id and l.key = i.key
                 and l.group_name = u.group_name and l.xmin = p_written_by),
           u.partition_id, g.id, p.queue_id, c.committed, p.last_offset
    from unnest(p_units, p_keys, p_statuses) with ordinality as i (unit, key, status, item)
    cross join lateral (
        select p_partition_ids[i.unit] as partition_id, p_group_names[i.unit] as group_name) u
    left join lateral (
        select p.queue_id, p.last_offset
        from queen_store.partitions p
        where p.id = u.partition_id
        limit 1) p on true
    left join lateral (
        select g.id
        from queen_store.groups g
        where g.queue_id = p.queue_id and g.name = u.group_name
        limit 1) g on true
    left join lateral (
        select c.lease_id, c.committed
        from queen_store.cursors c
        where c.partition_id = u.partition_id and c.group_id = g.id
        limit 1) c on true
    order by i.item;
end
$$;

comment on function queen_store.settled_acks(
    bigint[], text[], integer[], bytea[], smallint[], xid) is
    'What the acknowledgements of a committed bundle did, for a broker that lost the answer. Locks: none.';

-- queen_store.transact: a bundle of keys, timers, pushes and acknowledgements, one commit or no
-- effect: one transaction, or several of one tenant that touch nothing in common. What refuses it
-- is an answer, not an error: the effects are undone and the verdicts stand.
-- Called by  TransactProcedures
-- Locks      kv, as apply_kv; timers, ascending (queue, timer_key); partitions, ascending id;
--            cursors ascending (partition_id, group_id); waits up to p_wait_ms for each; groups
--            at a group's first ack ever, skip locked; epochs as append; bundles: one row of its
--            own, for a bundle with a key, with a timer, with a failure or without pushes
-- Returns    part kv: one row per operation as apply_kv;
--            part timer: one row per operation as change_timers;
--            part push: one row per lane-batch as append, up to where the bundle ended;
--            part batch: one row per batch as ack_batches;
--            part ack: one row per acknowledgement as ack_bundle; and only if nothing took effect
--            part undone, verdict
--            kv_precondition
--                          an operation on a key that must be applied is not
--            duplicate     a message is in its lane already
--            ack_rejected  an acknowledgement cannot be carried out, or a lease that is named and
--                          by which none goes is not held
--            busy          a lane is cold or unknown, as append says, a batch is lost or busy, as
--                          ack_batches says, or a cursor was placed while this call waited for
--                          others: come again
-- Raises     QN400 bad_request (as append, change_timers); QN409 kv_precondition, QN409 duplicate,
--            QN409 ack_rejected, QN503 busy are raised to undo what was done, and caught here
-- Cost       as apply_kv, change_timers, append and ack_bundle, one subtransaction; with leases
--            by which no ack goes as hold_leases; with keys, timers or a failed message, or without
--            pushes, that of note_bundle
create or replace function queen_store.transact(
    p_bundle_id uuid,
    -- The answer to this very bundle was lost, and the process that ran it is gone.
    p_settle boolean,
    p_tenant_id uuid,
    -- Negative as append takes it.
    p_partition_ids bigint[], p_flush_ids bigint[], p_vouched_from bigint[],
    p_vouched_to bigint[],
    -- Where the lane-batches may be stored already: above this; empty unless p_settle.
    p_settle_above bigint[],
    p_segment_lanes integer[], p_segment_counts integer[], p_keys bytea[], p_frames bytea[],
    p_ack_partition_ids bigint[], p_ack_group_names text[], p_ack_lease_ids uuid[],
    p_supplied_lease_ids uuid[], p_ack_units integer[], p_ack_keys bytea[],
    p_ack_statuses smallint[], p_ack_errors text[],
    -- As ack_batches takes them, instead of single acknowledgements.
    p_batch_partition_ids bigint[], p_batch_group_ids integer[], p_batch_lease_ids uuid[],
    p_batch_ends bigint[],
    -- As apply_kv takes them.
    p_kv_ops text[], p_kv_namespaces text[], p_kv_keys text[], p_kv_values text[],
    p_kv_ttl_seconds bigint[], p_kv_expects bigint[], p_kv_deltas numeric[], p_kv_mins numeric[],
    p_kv_maxs numeric[], p_kv_required boolean[], p_kv_read_bytes bigint,
    -- As change_timers takes them.
    p_timer_queues text[], p_timer_keys text[], p_timer_cancels boolean[],
    p_timer_delays_us bigint[], p_timer_deliver_ats timestamptz[], p_timer_partitions text[],
    p_timer_transaction_ids text[], p_timer_message_ids uuid[], p_timer_payloads bytea[],
    p_timer_encrypted boolean[], p_timer_dedup boolean[], p_timer_producer text,
    p_wait_ms bigint)
returns table (
    part text, ordinal integer, verdict text, base_offset bigint, created_at timestamptz,
    queue_id integer, partition_id bigint, group_id integer, lease_released boolean,
    dead_lettered boolean, committed bigint, last_offset bigint, conflated bigint, passed bigint,
    ended bigint, filed bigint, key text, value text, version bigint, expires_at timestamptz,
    updated_at timestamptz, transaction_id text, deliver_at timestamptz)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_written_by xid;
    v_noted_by xid;
    v_keys boolean := cardinality(p_kv_ops) > 0;
    v_timers boolean := cardinality(p_timer_queues) > 0;
    -- What keys and timers say cannot be found out later; nor, once evacuation has moved the
    -- messages of the bundle, which dead letters are its own.
    v_notes boolean := v_keys or v_timers or 0 <> any (p_ack_statuses);
    -- Of keys.
    v_verdicts text[];
    v_versions bigint[];
    v_values text[];
    v_expires_at timestamptz[];
    v_updated_at timestamptz[];
    -- Of timers.
    v_statuses text[];
    v_transaction_ids text[];
    v_deliver_ats timestamptz[];
    v_lost boolean := false;
    v_duplicate boolean := false;
    v_again boolean := false;
    v_rejected boolean := false;
begin
    -- Until the end of the transaction, which is the call.
    perform set_config('lock_timeout', p_wait_ms::text, true);
    -- Everything a bundle locks it locks in here: a row locked outside and changed inside would
    -- cost a multixact. Rows that were returned stay when the effects are undone.
    begin
        if v_notes then
            -- Before any lane is locked, for keys and timers come first. Whoever ran it is gone, so
            -- the row is there or will never be.
            if p_settle then
                select b.xmin, b.kv_verdicts, b.kv_versions, b.kv_values, b.kv_expires_at,
                       b.kv_updated_at, b.timer_statuses, b.timer_transaction_ids,
                       b.timer_deliver_ats
                into v_noted_by, v_verdicts, v_versions, v_values, v_expires_at, v_updated_at,
                     v_statuses, v_transaction_ids, v_deliver_ats
                from queen_store.bundles b
                where b.bundle_id = p_bundle_id;
            end if;
        elsif cardinality(p_partition_ids) = 0 then
            v_written_by := queen_store.note_bundle(
                p_bundle_id, null, null, null, null, null, null, null, null);
        end if;
        if p_settle and cardinality(p_partition_ids) > 0
                and (not v_notes or v_noted_by is not null) then
            perform 1
            from queen_store.partitions p
            where p.id = any (p_partition_ids)
            order by p.id
            for no key update;
            part := 'push';
            verdict := 'queued';
            for ordinal, base_offset, created_at, queue_id, last_offset, v_written_by in
                select f.ordinal, f.base_offset, f.created_at, f.queue_id, f.last_offset,
                       f.written_by
                from queen_store.find_flushes(p_partition_ids, p_flush_ids, p_settle_above) f
            loop
                return next;
            end loop;
        end if;
        v_written_by := coalesce(v_noted_by, v_written_by);
        if v_written_by is not null then
            return query
            select 'kv', a.item::integer, a.verdict, null::bigint, null::timestamptz,
                   null::integer, null::bigint, null::integer, null::boolean, null::boolean,
                   null::bigint, null::bigint, null::bigint, null::bigint, null::bigint,
                   null::bigint, p_kv_keys[a.item], a.value, a.version, a.expires_at, a.updated_at,
                   null, null::timestamptz
            from unnest(v_verdicts, v_versions, v_values, v_expires_at, v_updated_at)
                with ordinality as a (verdict, version, value, expires_at, updated_at, item)
            where a.verdict is not null;
            return query
            select 'timer', a.item::integer, a.status, null::bigint, null::timestamptz,
                   null::integer, null::bigint, null::integer, null::boolean, null::boolean,
                   null::bigint, null::bigint, null::bigint, null::bigint, null::bigint,
                   null::bigint, null, null, null::bigint, null::timestamptz, null::timestamptz,
                   a.transaction_id, a.deliver_at
            from unnest(v_statuses, v_transaction_ids, v_deliver_ats) with ordinality
                as a (status, transaction_id, deliver_at, item);
            return query
            select 'ack', a.item, 'done', null::bigint, null::timestamptz, a.queue_id,
                   a.partition_id, a.group_id, a.lease_released, a.dead_lettered, a.committed,
                   a.last_offset, null::bigint, null::bigint, null::bigint, null::bigint, null,
                   null, null::bigint, null::timestamptz, null::timestamptz, null, null::timestamptz
            from queen_store.settled_acks(
                p_ack_partition_ids, p_ack_group_names, p_ack_units, p_ack_keys, p_ack_statuses,
                v_written_by) a;
            return;
        end if;

        if v_keys then
            part := 'kv';
            for ordinal, verdict, key, value, version, expires_at, updated_at in
                select a.item, a.verdict, a.key, a.value, a.version, a.expires_at, a.updated_at
                from queen_store.apply_kv(
                    p_tenant_id, p_kv_ops, p_kv_namespaces, p_kv_keys, p_kv_values,
                    p_kv_ttl_seconds, p_kv_expects, p_kv_deltas, p_kv_mins, p_kv_maxs, null, null,
                    null, p_kv_read_bytes) a
            loop
                v_lost := v_lost or (p_kv_required[ordinal] and verdict <> 'applied');
                v_verdicts[ordinal] := verdict;
                v_versions[ordinal] := version;
                v_values[ordinal] := value;
                v_expires_at[ordinal] := expires_at;
                v_updated_at[ordinal] := updated_at;
                return next;
            end loop;
            if v_lost then
                raise exception using errcode = 'QN409', message = 'kv_precondition';
            end if;
            key := null;
            value := null;
            version := null;
            expires_at := null;
            updated_at := null;
        end if;

        if v_timers then
            part := 'timer';
            for ordinal, verdict, transaction_id, deliver_at in
                select c.ordinal, c.status, c.transaction_id, c.deliver_at
                from queen_store.change_timers(
                    p_tenant_id, p_timer_queues, p_timer_keys, p_timer_cancels, p_timer_delays_us,
                    p_timer_deliver_ats, p_timer_partitions, p_timer_transaction_ids,
                    p_timer_message_ids, p_timer_payloads, p_timer_encrypted, p_timer_dedup,
                    p_timer_producer) c
            loop
                v_statuses[ordinal] := verdict;
                v_transaction_ids[ordinal] := transaction_id;
                v_deliver_ats[ordinal] := deliver_at;
                return next;
            end loop;
            transaction_id := null;
            deliver_at := null;
        end if;

        if v_notes then
            perform queen_store.note_bundle(
                p_bundle_id, v_verdicts, v_versions, v_values, v_expires_at, v_updated_at,
                v_statuses, v_transaction_ids, v_deliver_ats);
        end if;

        if cardinality(p_partition_ids) > 0 then
            part := 'push';
            for ordinal, verdict, base_offset, created_at, queue_id, last_offset in
                select a.ordinal, a.verdict, a.base_offset, a.created_at, a.queue_id,
                       a.last_offset
                from queen_store.append(
                    p_partition_ids, p_flush_ids, p_vouched_from, p_vouched_to, '{}',
                    p_segment_lanes, p_segment_counts, p_keys, p_frames, true) a
                order by a.ordinal
            loop
                v_duplicate := v_duplicate or verdict = 'duplicate';
                v_again := v_again or verdict in ('cold', 'unknown_partition');
                return next;
            end loop;
            if v_duplicate then
                raise exception using errcode = 'QN409', message = 'duplicate';
            end if;
            if v_again then
                raise exception using errcode = 'QN503', message = 'busy';
            end if;
        end if;

        -- Leases by which no ack goes; the others are judged with their acks.
        if cardinality(p_supplied_lease_ids) > 0
                and array_position(p_ack_lease_ids, null) is null
                and not p_supplied_lease_ids <@ (p_ack_lease_ids || p_batch_lease_ids)
                and not queen_store.hold_leases(
                    p_tenant_id, p_supplied_lease_ids, p_ack_lease_ids || p_batch_lease_ids,
                    p_ack_partition_ids, p_ack_group_names) then
            raise exception using errcode = 'QN409', message = 'ack_rejected';
        end if;

        base_offset := null;
        created_at := null;
        if cardinality(p_batch_partition_ids) > 0 then
            part := 'batch';
            for ordinal, verdict, last_offset, conflated, passed, ended in
                select b.ordinal, b.verdict, b.last_offset, b.conflated, b.passed, b.ended
                from queen_store.ack_batches(
                    p_batch_partition_ids, p_batch_group_ids, p_batch_lease_ids, p_batch_ends) b
            loop
                v_again := v_again or verdict not in ('released', 'noop');
                return next;
            end loop;
            if v_again then
                raise exception using errcode = 'QN503', message = 'busy';
            end if;
        end if;

        if cardinality(p_ack_partition_ids) > 0 then
            part := 'ack';
            for ordinal, verdict, queue_id, partition_id, group_id, lease_released,
                dead_lettered, committed, last_offset, conflated, passed, ended, filed in
                select a.item, a.verdict, a.queue_id, a.partition_id, a.group_id,
                       a.lease_released, a.dead_lettered, a.committed, a.last_offset, a.conflated,
                       a.passed, a.ended, a.filed
                from queen_store.ack_bundle(
                    p_tenant_id, p_ack_partition_ids, p_ack_group_names, p_ack_lease_ids,
                    p_supplied_lease_ids, p_ack_units, p_ack_keys, p_ack_statuses,
                    p_ack_errors) a
            loop
                v_again := v_again or verdict = 'busy';
                v_rejected := v_rejected or verdict not in ('done', 'noop', 'stale', 'busy');
                return next;
            end loop;
            if v_again then
                raise exception using errcode = 'QN503', message = 'busy';
            end if;
            if v_rejected then
                raise exception using errcode = 'QN409', message = 'ack_rejected';
            end if;
        end if;
    exception when sqlstate 'QN409' or sqlstate 'QN503' then
        part := 'undone';
        ordinal := 0;
        verdict := sqlerrm;
        return next;
    end;
end
$$;

comment on function queen_store.transact(
    uuid, boolean, uuid, bigint[], bigint[], bigint[], bigint[], bigint[], integer[], integer[],
    bytea[], bytea[], bigint[], text[], uuid[], uuid[], integer[], bytea[], smallint[], text[],
    bigint[], integer[], uuid[], bigint[], text[], text[], text[], text[], bigint[], bigint[],
    numeric[], numeric[], numeric[], boolean[], bigint, text[], text[], boolean[], bigint[],
    timestamptz[], text[], text[], uuid[], bytea[], boolean[], boolean[], text, bigint) is
    'A bundle of keys, timers, pushes and acknowledgements: one commit, or verdicts and no effect. Locks: kv, as apply_kv; timers, ascending (queue, timer_key); partitions, ascending id; cursors ascending (partition_id, group_id); waits up to p_wait_ms for each; groups at a group''s first ack ever, skip locked; epochs as append; bundles: one row of its own, for a bundle with a key, with a timer, with a failure or without pushes.';

-- queen_store.note_bundle: leaves a trace of a bundle that stores no message or may file dead
-- letters, or of what one said of keys and timers, by which its commit is recognised when the
-- answer is lost; a stored message carries its flush id. sweep_bundles removes it when nobody asks
-- any more.
-- Called by  transact
-- Locks      bundles: the new row
-- Returns    null, or the transaction that it was if the bundle committed before
-- Cost       1 statement
create or replace function queen_store.note_bundle(
    p_bundle_id uuid, p_kv_verdicts text[], p_kv_versions bigint[], p_kv_values text[],
    p_kv_expires_at timestamptz[], p_kv_updated_at timestamptz[], p_timer_statuses text[],
    p_timer_transaction_ids text[], p_timer_deliver_ats timestamptz[])
returns xid
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
    insert into queen_store.bundles (
        bundle_id, kv_verdicts, kv_versions, kv_values, kv_expires_at, kv_updated_at,
        timer_statuses, timer_transaction_ids, timer_deliver_ats)
    values (
        p_bundle_id, p_kv_verdicts, p_kv_versions, p_kv_values, p_kv_expires_at, p_kv_updated_at,
        p_timer_statuses, p_timer_transaction_ids, p_timer_deliver_ats)
    on conflict (bundle_id) do nothing;
    if not found then
        return (
            select b.xmin from queen_store.bundles b where b.bundle_id = p_bundle_id);
    end if;
    return null;
end
$$;

comment on function queen_store.note_bundle(
    uuid, text[], bigint[], text[], timestamptz[], timestamptz[], text[], text[], timestamptz[]) is
    'Leaves a trace of a bundle with keys, with timers, with failures or without pushes; tells whether it committed before. Locks: bundles: the new row.';

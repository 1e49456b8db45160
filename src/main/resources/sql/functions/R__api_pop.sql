-- queen.pop: consuming with plain SQL.

-- queen.pop: takes the next messages of a consumer group. Without auto-ack they are leased: nobody
-- else of the group gets the lane until they are acknowledged with queen.ack, or the lease ends and
-- they come again. With auto-ack the cursor moves at once, in the caller's transaction: work done
-- in the same transaction is then done exactly once. Claims last when the transaction commits;
-- until then the lanes taken are passed over by others, so commit soon.
-- Without a group, consumers compete in the group of the queue, which begins at the oldest message.
-- A named group begins, at its first pop, with what is pushed from then on (new), at the oldest
-- message (all) or at an instant (p_subscription_from); later pops do not change that. Of a group
-- that conflates, registered so by a pop over HTTP, every lane gives its newest message alone.
-- Called by  applications
-- Locks      advisory on the names of a new queue, group and cursor, tried only; queues and groups:
--            new rows; cursors, skip locked; leases: new rows
-- Returns    one row per message, lane by lane, offsets ascending; no row = nothing to deliver now
-- Raises     QN400 bad_request
-- Cost       some 8 statements per 256 lanes looked at; lanes that others hold are looked at too
create or replace function queen.pop(
    p_queue text, p_group text default null, p_batch integer default 1,
    p_partition text default null, p_partitions integer default 1,
    p_auto_ack boolean default false, p_lease_seconds integer default null,
    p_subscription_mode text default 'new', p_subscription_from timestamptz default null,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
    partition text, partition_id uuid, "offset" bigint, message_id uuid, transaction_id text,
    payload text, payload_bytes bytea, created_at timestamptz, trace_id uuid, producer text,
    encrypted boolean, lease_id uuid, lease_expires_at timestamptz, delivery_attempt integer)
language plpgsql volatile parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
-- Planning anew for each call costs more than the call.
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_group text := coalesce(nullif(p_group, ''), '__QUEUE_MODE__');
    v_rule text := case when p_subscription_from is null then p_subscription_mode
                        else 'instant' end;
    v_several boolean := p_partition is null and p_partitions <> 1;
    v_lease_id uuid := case when not p_auto_ack then queen_store.mint_uuid() end;
    v_queue_id integer;
    v_group_id integer;
    v_lanes bigint[];
    v_names text[];
    v_seen integer;
    v_after_write timestamptz;
    v_after_id bigint;
begin
    perform queen_store.require_name('queue', p_queue, 1, 1024);
    perform queen_store.require_name('group', v_group, 1, 1024);
    perform queen_store.require_name('partition', coalesce(p_partition, 'Default'), 1, 1024);
    perform queen_store.require_number('batch', p_batch, 1, 10000);
    perform queen_store.require_number('partitions', p_partitions, 0, 10000);
    perform queen_store.require_number(
        'lease seconds', coalesce(p_lease_seconds, 1), 1, 2147483647);
    if coalesce(p_subscription_mode, '') not in ('new', 'all') then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = format('subscription mode must be new or all, got %s',
                coalesce(p_subscription_mode, 'null'));
    end if;

    -- A pop of one partition neither registers the group nor makes anything that is not there.
    if p_partition is not null then
        select array[f.partition_id], array[p_partition] into v_lanes, v_names
        from queen_store.find_lanes(array[p_tenant], array[p_queue], array[p_partition]) f;
        if v_lanes is null then
            return;
        end if;
    end if;
    select g.queue_id, g.group_id into v_queue_id, v_group_id
    from queen_store.register_group(
        p_tenant, p_queue, v_group, case when p_partition is null then v_rule end,
        p_subscription_from, p_partition is null) g
    where g.verdict = 'ready';
    if v_group_id is null then
        return;
    end if;

    loop
        if p_partition is null then
            select array_agg(l.partition_id order by l.last_write_at, l.partition_id)
                       filter (where l.is_free),
                   array_agg(l.name order by l.last_write_at, l.partition_id)
                       filter (where l.is_free),
                   count(*)::integer,
                   (array_agg(l.last_write_at
                              order by l.last_write_at desc, l.partition_id desc))[1],
                   (array_agg(l.partition_id
                              order by l.last_write_at desc, l.partition_id desc))[1]
            into v_lanes, v_names, v_seen, v_after_write, v_after_id
            from (
                select w.*, w.lease_expires_at is null
                            or w.lease_expires_at <= clock_timestamp() as is_free
                from queen_store.lanes_with_work(
                    v_queue_id, v_group_id, null, v_after_write, v_after_id, 256) w) l;
        end if;

        if v_lanes is not null then
            return query
            with claimed as materialized (
                select c.*, v_lanes[c.candidate] as lane
                from queen_store.claim_first(
                    array[v_lease_id], array[p_batch], array[p_partitions],
                    array[coalesce(p_lease_seconds, 0)], array[v_several], 67108864,
                    array_fill(1, array[cardinality(v_lanes)]), v_lanes,
                    array_fill(v_group_id, array[cardinality(v_lanes)]),
                    array_fill(case when p_partition is not null then v_rule end,
                               array[cardinality(v_lanes)]),
                    array_fill(p_subscription_from, array[cardinality(v_lanes)])) c
                where c.verdict in ('leased', 'served')),
            counted as materialized (
                select queen_store.add_counts(
                    array_agg(v_queue_id), array_agg(v_group_id), null, null,
                    array_agg(c.passed), array_agg(c.granted), array_agg(c.ended), null, null,
                    false, array_agg(c.passed)) as done
                from claimed c),
            -- What was too much to come with the claim; segments do not change.
            rest as materialized (
                select r.*
                from queen_store.read_segments(
                    array(select c.lane from claimed c where c.frames is null
                          order by c.lane, c.base_offset),
                    array(select c.base_offset from claimed c where c.frames is null
                          order by c.lane, c.base_offset)) r),
            missing as (
                select c.lane, c.base_offset,
                       row_number() over (order by c.lane, c.base_offset) as ordinal
                from claimed c
                where c.frames is null)
            select v_names[c.candidate], queen_store.partition_uuid(c.lane), d."offset",
                   d.message_id, d.transaction_id, queen_store.payload_text(d.flags, d.payload),
                   d.payload, c.created_at, d.trace_id, d.producer, d.flags & 32 > 0,
                   c.lease_id, c.lease_expires_at, c.attempt
            from claimed c
            cross join counted n
            left join missing m on m.lane = c.lane and m.base_offset = c.base_offset
            left join rest r on r.ordinal = m.ordinal
            cross join lateral queen_store.decode_segment(
                c.lane, c.base_offset, c.created_at, c.keys, coalesce(c.frames, r.frames)) d
            where d."offset" >= c.base_offset + c.first_index
              and d."offset" < c.base_offset + c.first_index + c.message_count
            order by c.candidate, d."offset";
            exit when found;
        end if;
        exit when coalesce(v_seen, 0) < 256;
    end loop;
end
$$;

comment on function queen.pop(
    text, text, integer, text, integer, boolean, integer, text, timestamptz, uuid) is
    'Takes the next messages of a consumer group, leased or with auto-ack; no row = nothing now. Locks: advisory on the names of a new queue, group and cursor, tried only; queues and groups: new rows; cursors, skip locked; leases: new rows.';

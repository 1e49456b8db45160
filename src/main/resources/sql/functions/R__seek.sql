-- Seek: where a group goes on. A whole queue is moved by raising the group's generation, which
-- makes every cursor of it count as absent, and storing where lanes without a cursor begin: one row
-- is written, however many lanes there are. A single lane is moved by writing its cursor.

-- queen_store.ensure_group: the number of a group; its row is made without a rule where missing, so
-- that its first pop still registers it.
-- Called by  seek_queue, seek_lane
-- Locks      advisory on the name of a new group, waits; groups: a new row
-- Returns    its number
-- Cost       1 statement; 3 for a new group
create or replace function queen_store.ensure_group(p_queue_id integer, p_group text)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_group_id integer;
begin
    select g.id into v_group_id
    from queen_store.groups g
    where g.queue_id = p_queue_id and g.name = p_group;
    if v_group_id is null then
        perform pg_advisory_xact_lock(
            queen_store.lock_key('group', p_queue_id::text, p_group));
        insert into queen_store.groups (queue_id, name)
        values (p_queue_id, p_group)
        on conflict (queue_id, name) do nothing
        returning id into v_group_id;
        if v_group_id is null then
            select g.id into v_group_id
            from queen_store.groups g
            where g.queue_id = p_queue_id and g.name = p_group;
        end if;
    end if;
    return v_group_id;
end
$$;
comment on function queen_store.ensure_group(integer, text) is
    'Number of a group, its row made without a rule where missing. Locks: advisory on the name of a new group, waits; groups: a new row.';

-- queen_store.lane_named: the number of a lane by its name. In order of names, for a plan that was
-- made while the table was empty would else read the queue's lanes by time, one after the other.
-- Called by  seek_lane, walk_dead_letters, require_lane, find_messages
-- Locks      none
-- Returns    null = no such lane, or no name given
-- Cost       1 statement, one index probe
create or replace function queen_store.lane_named(p_queue_id integer, p_partition text)
returns bigint
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
begin
    return (
        select p.id
        from (
            select p.id, p.name
            from queen_store.partitions p
            where p.queue_id = p_queue_id and p.name >= p_partition
            order by p.name
            limit 1) p
        where p.name = p_partition);
end
$$;
comment on function queen_store.lane_named(integer, text) is
    'Number of a lane by its name; null = none. Locks: none.';

-- queen_store.seek_queue: moves a group in every lane of a queue, those that come later included.
-- Leases of before end here: their acks are refused. A claim or ack under way at this moment counts
-- as earlier.
-- Called by  GroupProcedures
-- Locks      advisory on the name of a new group, waits; groups: one row, waits; each up to 1 s
-- Returns    one row: moved, or not_found (no such queue, or it has no lane). p_target is
--            beginning, end or instant (with p_at; one to come is the end). effective_at is the
--            instant from which on messages are delivered; null = beginning. For end it is no later
--            than the start of any transaction that may hold messages nobody sees yet; held_by
--            names the oldest of those where that is over 1 s back
-- Cost       5 statements, two rows written; lane_counts, before the locks
create or replace function queen_store.seek_queue(
    p_tenant_id uuid, p_queue text, p_group text, p_target text, p_at timestamptz)
returns table (
    verdict text, queue_id integer, lane_count bigint, effective_at timestamptz,
    held_by_pid integer, held_by_application text)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
    v_queue_id integer;
    v_group_id integer;
    v_lane_count bigint;
    v_at timestamptz := p_at;
    v_pid integer;
    v_application text;
begin
    select q.id into v_queue_id
    from queen_store.queues q
    where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null;
    v_lane_count := (
        select c.lanes from queen_store.lane_counts(array[v_queue_id]) c);
    if v_lane_count = 0 then
        return query select 'not_found', v_queue_id, 0::bigint, null::timestamptz, null::integer,
                            null::text;
        return;
    end if;

    v_group_id := queen_store.ensure_group(v_queue_id, p_group);
    perform 1
    from queen_store.groups g
    where g.id = v_group_id
    for no key update;

    if p_target = 'end' or p_at > clock_timestamp() then
        -- Of an instant to come too: what is stored until then is not to be skipped.
        v_at := queen_store.safe_instant();
        if v_at < clock_timestamp() - interval '1 second' then
            select w.pid, w.application_name into v_pid, v_application
            from queen_store.oldest_writer_session() w;
        end if;
    end if;
    update queen_store.groups g
    set generation = g.generation + 1,
        seek_rule = case p_target when 'beginning' then 'all' else 'instant' end,
        seek_at = case when p_target <> 'beginning' then v_at end
    where g.id = v_group_id;
    perform queen_store.add_counts(
        array[v_queue_id], array[v_group_id], null, null, null, null, null, null, null, true);
    return query select 'moved', v_queue_id, v_lane_count,
                        case when p_target <> 'beginning' then v_at end, v_pid, v_application;
end
$$;
comment on function queen_store.seek_queue(uuid, text, text, text, timestamptz) is
    'Moves a group in every lane of a queue by raising its generation. Locks: advisory on the name of a new group, waits; groups: one row, waits; each up to 1 s.';

-- queen_store.seek_lane: moves a group in one lane: its live lease ends and what was counted of
-- retries and deliveries is forgotten.
-- Called by  GroupProcedures
-- Locks      advisory on the name of a new group and on (lane, group), waits; groups: a new row;
--            cursors: one row, waits; each up to 1 s
-- Returns    one row: moved with the new cursor, or unknown_queue, unknown_partition. p_target is
--            beginning, end, instant (with p_at) or offset (p_offset is delivered next, as far as
--            it is retained)
-- Raises     QN400 bad_request
-- Cost       9 statements, index probes only, and start_committed for an instant
create or replace function queen_store.seek_lane(
    p_tenant_id uuid, p_queue text, p_partition text, p_group text, p_target text,
    p_at timestamptz, p_offset bigint)
returns table (
    verdict text, queue_id integer, group_id integer, partition_id bigint, committed bigint,
    last_offset bigint)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
    v_queue_id integer;
    v_partition_id bigint;
    v_group_id integer;
    v_before bigint;
    v_leased bigint;
    v_committed bigint;
    v_last_offset bigint;
    v_log_start bigint;
begin
    if p_target = 'offset' and coalesce(p_offset, -1) < 0 then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = format('offset must be at least 0, got %s', coalesce(p_offset::text, 'null'));
    end if;
    select q.id into v_queue_id
    from queen_store.queues q
    where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null;
    v_partition_id := queen_store.lane_named(v_queue_id, p_partition);
    if v_partition_id is null then
        return query select case when v_queue_id is null then 'unknown_queue'
                                 else 'unknown_partition' end,
                            v_queue_id, null::integer, null::bigint, null::bigint, null::bigint;
        return;
    end if;

    v_group_id := queen_store.ensure_group(v_queue_id, p_group);
    -- Whoever places a cursor where there is none holds this one, whoever moves one its row.
    perform pg_advisory_xact_lock(
        queen_store.lock_key('cursor', v_partition_id::text, v_group_id::text));
    perform 1
    from queen_store.cursors c
    where c.partition_id = v_partition_id and c.group_id = v_group_id
    for no key update;

    -- Under the locks: what is counted is the way from here.
    v_before := queen_store.effective_cursor(v_partition_id, v_group_id);
    select c.batch_end - c.committed into v_leased
    from queen_store.cursors c
    join queen_store.groups g on g.id = c.group_id and g.generation = c.generation
    where c.partition_id = v_partition_id and c.group_id = v_group_id
      and c.lease_expires_at > clock_timestamp() - interval '10 minutes';
    with target as (
        select p.last_offset, p.log_start, g.generation,
               case p_target
                   when 'end' then p.last_offset
                   when 'beginning' then p.log_start - 1
                   when 'offset' then
                       least(greatest(p_offset, p.log_start), p.last_offset + 1) - 1
                   else queen_store.start_committed(
                       p.id, p.log_start, p.last_offset, p.last_write_at, 'instant', p_at)
               end as committed
        from queen_store.partitions p
        cross join queen_store.groups g
        where p.id = v_partition_id and g.id = v_group_id),
    placed as (
        insert into queen_store.cursors as c (partition_id, group_id, generation, committed)
        select v_partition_id, v_group_id, t.generation, t.committed
        from target t
        on conflict (partition_id, group_id) do update
        set generation = excluded.generation, epoch = 0, committed = excluded.committed,
            prev_committed = null, prev_end = null, batch_end = null, lease_id = null,
            prev_lease = null, lease_expires_at = null, retry_count = 0, attempt_offset = null,
            attempt_count = 0
        returning c.committed)
    select p.committed, t.last_offset, t.log_start into v_committed, v_last_offset, v_log_start
    from placed p
    cross join target t;
    perform queen_store.add_counts(
        array[v_queue_id], array[v_group_id], null,
        array[greatest(v_before - greatest(v_committed, v_log_start - 1), 0)],
        array[greatest(greatest(v_committed, v_log_start - 1) - v_before, 0)], null,
        array[v_leased], null, null, false);
    return query select 'moved', v_queue_id, v_group_id, v_partition_id, v_committed,
                        v_last_offset;
end
$$;
comment on function queen_store.seek_lane(
    uuid, text, text, text, text, timestamptz, bigint) is
    'Moves a group in one lane: cursor placed, lease dropped, counters reset. Locks: advisory on the name of a new group and on (lane, group), waits; groups: a new row; cursors: one row, waits; each up to 1 s.';

-- queen_store.update_subscription: changes where a group begins in lanes it has not touched yet, in
-- every queue it is registered with. Moves no cursor, and nothing that a seek has placed. An
-- instant to come means now: what is stored until then is not to be skipped.
-- Called by  GroupProcedures
-- Locks      groups, ascending id, waits up to 1 s each
-- Returns    one row per queue
-- Cost       3 statements; one index probe per queue of the tenant
create or replace function queen_store.update_subscription(
    p_tenant_id uuid, p_group text, p_at timestamptz)
returns table (queue_id integer, group_id integer)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
    v_group_ids integer[] := queen_store.groups_named(p_tenant_id, null, p_group);
    v_at timestamptz := case when p_at > clock_timestamp() then queen_store.safe_instant()
                             else p_at end;
begin
    perform 1
    from queen_store.groups g
    where g.id = any (v_group_ids)
    order by g.id
    for no key update;
    return query
    with updated as materialized (
        update queen_store.groups g
        set start_rule = 'instant', start_at = v_at
        where g.id = any (v_group_ids) and g.start_rule is not null
        returning g.queue_id, g.id
    ),
    counted as materialized (
        select queen_store.add_counts(
            array_agg(u.queue_id), array_agg(u.id), null, null, null, null, null, null, null,
            true) as done
        from updated u
    )
    select u.queue_id, u.id
    from updated u
    cross join counted n;
end
$$;
comment on function queen_store.update_subscription(uuid, text, timestamptz) is
    'Changes where a group begins in lanes it has not touched yet, in all its queues. Locks: groups, ascending id, waits up to 1 s each.';

-- queen_store.delete_group: forgets where a group is, in one queue or in all: its generation rises,
-- so every cursor counts as absent and every lease has ended. With p_forget its registration goes
-- too: the next pop registers it anew, with its own parameters. What the group gave up stays among
-- the dead letters.
-- Called by  GroupProcedures
-- Locks      groups, ascending id, waits up to 1 s each
-- Returns    one row per queue that has the group, with the number of its lanes; 0 where it had
--            been forgotten before and not come back since
-- Cost       4 statements, one row written per queue; lane_counts, before the locks
create or replace function queen_store.delete_group(
    p_tenant_id uuid, p_queue text, p_group text, p_forget boolean)
returns table (queue_id integer, lane_count bigint)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
    v_group_ids integer[] := queen_store.groups_named(p_tenant_id, p_queue, p_group);
    v_used_queue_ids integer[];
    v_queue_ids integer[];
    v_lane_counts bigint[];
begin
    -- Before the locks: who registers the group meanwhile need not wait for the counting.
    select array_agg(c.queue_id), array_agg(c.lanes)
    into v_queue_ids, v_lane_counts
    from queen_store.lane_counts(array(
        select g.queue_id
        from queen_store.groups g
        where g.id = any (v_group_ids))) c;
    perform 1
    from queen_store.groups g
    where g.id = any (v_group_ids)
    order by g.id
    for no key update;
    -- A later statement than the locks: what a delete before this one left is seen here.
    select array_agg(g.queue_id) into v_used_queue_ids
    from queen_store.groups g
    where g.id = any (v_group_ids) and g.is_known;
    return query
    with forgotten as materialized (
        update queen_store.groups g
        set generation = g.generation + 1, seek_rule = null, seek_at = null,
            start_rule = case when not p_forget then g.start_rule end,
            start_at = case when not p_forget then g.start_at end,
            conflation = case when not p_forget then g.conflation end,
            consumed_at = case when not p_forget then g.consumed_at end
        where g.id = any (v_group_ids)
        returning g.queue_id, g.id),
    counted as materialized (
        select queen_store.add_counts(
            array_agg(f.queue_id), array_agg(f.id), null, null, null, null, null, null, null,
            true) as done
        from forgotten f)
    select f.queue_id, case when f.queue_id = any (v_used_queue_ids)
                            then v_lane_counts[array_position(v_queue_ids, f.queue_id)]
                            else 0 end
    from forgotten f
    cross join counted n;
end
$$;
comment on function queen_store.delete_group(uuid, text, text, boolean) is
    'Forgets a group in one queue or in all of them by raising its generation. Locks: groups, ascending id, waits up to 1 s each.';

-- queen_store.groups_named: numbers of the groups of that name in live queues of a tenant.
-- Called by  update_subscription, delete_group
-- Locks      none
-- Returns    them, ascending; p_queue null = of all queues
-- Cost       1 statement, one index probe per queue
create or replace function queen_store.groups_named(
    p_tenant_id uuid, p_queue text, p_group text)
returns integer[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
begin
    return array(
        select g.id
        from queen_store.queues q
        join queen_store.groups g on g.queue_id = q.id and g.name = p_group
        where q.tenant_id = p_tenant_id and q.deleted_at is null
          and (p_queue is null or q.name = p_queue)
        order by g.id);
end
$$;
comment on function queen_store.groups_named(uuid, text, text) is
    'Numbers of the groups of that name in live queues of a tenant. Locks: none.';

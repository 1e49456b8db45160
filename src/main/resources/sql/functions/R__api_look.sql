-- What operators ask of one queue, within bounds however many lanes it has: who holds leases, and
-- what will expire next.

-- queen_store.require_queue: number of the queue that a reader names.
-- Called by  queen.leases_in, queen.expiring_in
-- Locks      none
-- Returns    its number
-- Raises     QN400 bad_request, QN404 not_found
-- Cost       1 statement, one index probe
create or replace function queen_store.require_queue(p_tenant_id uuid, p_queue text)
returns integer
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue_id integer;
begin
    perform queen_store.require_name('queue', p_queue, 0, 1024);
    select q.id into v_queue_id
    from queen_store.queues q
    where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null;
    if not found then
        raise exception using errcode = 'QN404', message = 'not_found',
            detail = format('there is no queue %s', p_queue);
    end if;
    return v_queue_id;
end
$$;

comment on function queen_store.require_queue(uuid, text) is
    'Number of the queue that a reader names; refuses an unknown one. Locks: none.';

-- queen.lease: which partitions a lease holds, and until when.
-- Called by  applications, people
-- Locks      none
-- Returns    one row per partition; none = no such lease any more: acknowledged, taken over, or
--            another tenant's
-- Cost       2 statements, primary keys only: a lease id carries the number of its partition, or 0
--            and has a row in leases
create or replace function queen.lease(
    p_lease_id uuid, p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
    queue text, partition text, consumer_group text, first_offset bigint, last_offset bigint,
    lease_expires_at timestamptz, expired boolean, delivery_attempt integer,
    retry_count integer)
language plpgsql stable parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_number bigint := queen_store.lease_number(p_lease_id);
    v_ids bigint[];
begin
    v_ids := case when v_number > 0 then array[v_number] else (
        select l.partition_ids
        from queen_store.leases l
        where l.lease_id = p_lease_id) end;
    return query
    select q.name, p.name, g.name, c.committed + 1, c.batch_end, c.lease_expires_at,
           c.lease_expires_at <= clock_timestamp(), c.attempt_count, c.retry_count
    from (select distinct i.id from unnest(v_ids) i (id)) i
    cross join lateral (
        select c.*
        from queen_store.cursors c
        where c.partition_id = i.id and c.lease_id = p_lease_id
        offset 0) c
    cross join lateral (
        select g.name, g.generation
        from queen_store.groups g
        where g.id = c.group_id
        limit 1) g
    cross join lateral (
        select p.name, p.queue_id
        from queen_store.partitions p
        where p.id = i.id
        limit 1) p
    cross join lateral (
        select q.name, q.tenant_id, q.deleted_at
        from queen_store.queues q
        where q.id = p.queue_id
        limit 1) q
    where g.generation = c.generation and q.tenant_id = p_tenant and q.deleted_at is null
    order by q.name, p.name, g.name;
end
$$;

comment on function queen.lease(uuid, uuid) is
    'Which partitions a lease holds, and until when. Locks: none.';

-- queen.leases_in: who works on what in a queue: the leases in its partitions, by name, as many
-- partitions at a time as the caller wants to have looked at. There is no index of leases, for
-- every claim would have to write it.
-- Called by  applications, people
-- Locks      none
-- Returns    one row per lease, expired ones included; next_partition = p_after of the next call,
--            null = these are all. Where there is none in these partitions, one row that has
--            next_partition alone
-- Raises     QN400 bad_request, QN404 not_found
-- Cost       2 statements: p_partitions entries of the index of names, and for each a probe of the
--            cursors, of which a partition has as many as it has groups
create or replace function queen.leases_in(
    p_queue text, p_group text default null, p_after text default null,
    p_partitions integer default 10000,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
    partition text, consumer_group text, lease_id uuid, first_offset bigint,
    last_offset bigint, lease_expires_at timestamptz, expired boolean, delivery_attempt integer,
    retry_count integer, next_partition text)
language plpgsql stable parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_queue_id integer := queen_store.require_queue(p_tenant, p_queue);
    v_now timestamptz := clock_timestamp();
    v_ids bigint[];
    v_names text[];
begin
    perform queen_store.require_number('partitions', p_partitions, 1, 100000);
    select array_agg(p.id order by p.name), array_agg(p.name order by p.name)
    into v_ids, v_names
    from (
        select p.id, p.name
        from queen_store.partitions p
        where p.queue_id = v_queue_id and p.name > coalesce(p_after, '')
        order by p.name
        limit p_partitions) p;
    return query
    select i.name, g.name, c.lease_id, c.committed + 1, c.batch_end, c.lease_expires_at,
           c.lease_expires_at <= v_now, c.attempt_count, c.retry_count, v_names[p_partitions]
    from unnest(v_ids, v_names) i (id, name)
    cross join lateral (
        select c.*
        from queen_store.cursors c
        where c.partition_id = i.id and c.lease_id is not null
        offset 0) c
    cross join lateral (
        select g.name, g.generation
        from queen_store.groups g
        where g.id = c.group_id
        limit 1) g
    where g.generation = c.generation and (p_group is null or g.name = p_group)
    order by i.name, g.name;
    if not found then
        return query
        select null::text, null::text, null::uuid, null::bigint, null::bigint,
               null::timestamptz, null::boolean, null::integer, null::integer,
               v_names[p_partitions];
    end if;
end
$$;

comment on function queen.leases_in(text, text, text, integer, uuid) is
    'Who works on what in a queue, looking at so many of its partitions. Locks: none.';

-- queen.expiring_in: which partitions of a queue the rules of retention come to next, and what they
-- take there.
-- Called by  applications, people
-- Locks      none
-- Returns    at most p_limit partitions, the next one first; none = no rule, or nothing is kept.
--            due_at = when they are looked at, in the past = by the next run. messages are those
--            that are old enough by now, unread those of all kept that the slowest group, named
--            beside it, has not read: where nothing but the age of read messages is short enough,
--            they wait for it
-- Raises     QN400 bad_request, QN404 not_found
-- Cost       2 statements: p_limit entries of an index; per partition start_committed, and
--            effective_cursor for each of its groups
create or replace function queen.expiring_in(
    p_queue text, p_limit integer default 100,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
    partition text, due_at timestamptz, oldest_message_at timestamptz, messages bigint,
    kept bigint, unread bigint, slowest_group text, goes_unread_at timestamptz)
language plpgsql stable parallel unsafe
security definer
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
    v_queue_id integer := queen_store.require_queue(p_tenant, p_queue);
    v_now timestamptz := clock_timestamp();
    v_age interval;
    v_unread_age interval;
begin
    perform queen_store.require_number('limit', p_limit, 1, 1000);
    select make_interval(secs => q.expiry_seconds),
           make_interval(secs => q.unread_expiry_seconds)
    into v_age, v_unread_age
    from queen_store.queues q
    where q.id = v_queue_id;
    return query
    select p.name, p.from_at + v_age, p.oldest_live_at,
           queen_store.start_committed(
               p.id, p.log_start, p.last_offset, p.last_created_at, 'instant', v_now - v_age)
               - p.log_start + 1,
           p.last_offset - p.log_start + 1, p.last_offset - g.committed, g.name,
           p.oldest_live_at + v_unread_age
    from (
        select p.id, p.name, p.log_start, p.last_offset, p.last_created_at, p.oldest_live_at,
               greatest(p.oldest_live_at, p.expiry_held_at) as from_at
        from queen_store.partitions p
        where p.queue_id = v_queue_id and p.oldest_live_at is not null and v_age is not null
        order by greatest(p.oldest_live_at, p.expiry_held_at)
        limit p_limit) p
    left join lateral (
        select g.name, queen_store.effective_cursor(p.id, g.id) as committed
        from queen_store.groups g
        where g.queue_id = v_queue_id
        order by 2, 1
        limit 1) g on true
    order by p.from_at, p.name;
end
$$;

comment on function queen.expiring_in(text, integer, uuid) is
    'Which partitions of a queue expire next, and what goes there. Locks: none.';

-- queen_store.stuck: what does not move although it should.
-- Called by  queen.stuck
-- Locks      none
-- Returns    one row per transaction that has held lanes for over 10 s, per epoch that waits for a
--            transaction, per job that is paused or failed, and per lane, of the 1,000 that have
--            waited longest when the walk came by, whose next message was delivered more than once
-- Cost       1 statement over the lock table, the epochs, the jobs and the oldest lanes; per lane
--            and group shown effective_cursor and some probes
create or replace function queen_store.stuck()
returns table (kind text, what text, since timestamptz, detail text)
language plpgsql stable parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_lanes_max constant integer := 1000;
    v_now timestamptz := clock_timestamp();
begin
    return query
    select 'transaction', case when h.pid is null
                               then format('prepared transaction %s', h.prepared_transaction)
                               else format('pid %s, %s', h.pid, h.application_name) end,
           v_now - h.transaction_age,
           format('holds partitions; state %s, %s sessions wait for it', h.state,
               cardinality(h.waiting_pids))
    from queen_store.lane_holders(interval '10 seconds') h
    union all
    select 'epoch', format('epoch %s, %s', e.epoch, e.state),
           coalesce(e.closed_at, e.opened_at), format('waits for %s', w.holder)
    from queen_store.epochs e
    cross join lateral (select queen_store.epoch_waits_for(e.epoch) as holder offset 0) w
    where w.holder is not null
    union all
    select 'job', j.name, case when j.enabled then j.last_error_at end,
           case when j.enabled then j.last_error else 'paused' end
    from queen_store.jobs j
    where not j.enabled or j.last_error is not null
    union all
    select 'message', format('%s/%s, group %s', q.name, p.name, g.name), o.unread_at,
           format('offset %s was delivered %s times', e.committed + 1, c.attempt_count)
    from (
        select o.group_id, o.partition_id, o.unread_at
        from queen_store.oldest_lanes o
        order by o.unread_at, o.partition_id
        limit v_lanes_max) o
    cross join lateral (
        select c.generation, c.attempt_offset, c.attempt_count
        from queen_store.cursors c
        where c.partition_id = o.partition_id and c.group_id = o.group_id
        limit 1) c
    cross join lateral (
        select g.name, g.generation
        from queen_store.groups g
        where g.id = o.group_id
        limit 1) g
    cross join lateral (
        select p.name, p.queue_id, p.last_offset
        from queen_store.partitions p
        where p.id = o.partition_id
        limit 1) p
    cross join lateral (
        select q.name, q.deleted_at
        from queen_store.queues q
        where q.id = p.queue_id
        limit 1) q
    cross join lateral (
        select queen_store.effective_cursor(o.partition_id, o.group_id) as committed
        offset 0) e
    where c.attempt_count > 1 and c.attempt_offset = e.committed + 1
      and g.generation = c.generation and p.last_offset > e.committed and q.deleted_at is null;
end
$$;

comment on function queen_store.stuck() is
    'What does not move although it should: transactions, epochs, jobs, messages. Locks: none.';

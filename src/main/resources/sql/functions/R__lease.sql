-- Leases: prolonging and sweeping them. The truth is the cursor row; the row in leases only names
-- the lanes.

-- queen_store.extend_lease: prolongs every live lease of one pop; never shortens or revives one.
-- Called by  AckProcedures
-- Locks      cursors ascending (partition_id, group_id), then leases: one row; waits
-- Returns    one row per prolonged lane; none = unknown, expired, released or another tenant's
-- Cost       4 statements, primary keys only: a lease id carries its lane's number, or 0 and has a
--            row in leases
create or replace function queen_store.extend_lease(
    p_tenant_id uuid, p_lease_id uuid, p_seconds integer)
returns table (partition_id bigint, lease_expires_at timestamptz)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    v_number bigint := queen_store.lease_number(p_lease_id);
    v_partition_ids bigint[];
    v_group_ids integer[];
begin
    -- A lane's cursors are as many as it has groups; only the one with this lease is locked.
    select array_agg(c.partition_id), array_agg(c.group_id) into v_partition_ids, v_group_ids
    from (
        select i.partition_id
        from unnest(case when v_number > 0 then array[v_number] else (
            select l.partition_ids
            from queen_store.leases l
            where l.lease_id = p_lease_id) end) i (partition_id)
        group by i.partition_id
        order by i.partition_id) i
    cross join lateral (
        select c.partition_id, c.group_id
        from queen_store.cursors c
        where c.partition_id = i.partition_id and c.lease_id = p_lease_id
        order by c.partition_id, c.group_id
        for no key update) c;

    v_now := clock_timestamp();
    return query
    insert into queen_store.cursors as c (
        partition_id, group_id, generation, committed, lease_expires_at)
    select i.partition_id, i.group_id, c.generation, c.committed,
           greatest(c.lease_expires_at, v_now + make_interval(secs => greatest(p_seconds, 1)))
    from unnest(v_partition_ids, v_group_ids) i (partition_id, group_id)
    cross join lateral (
        select c.generation, c.committed, c.lease_id, c.lease_expires_at
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
    where c.lease_id = p_lease_id and c.lease_expires_at > v_now and q.tenant_id = p_tenant_id
      and q.deleted_at is null and g.generation = c.generation
    on conflict (partition_id, group_id) do update
    set lease_expires_at = excluded.lease_expires_at
    returning c.partition_id, c.lease_expires_at;

    if found and v_number = 0 then
        update queen_store.leases l
        set expires_at = greatest(
            l.expires_at, v_now + make_interval(secs => greatest(p_seconds, 1)))
        where l.lease_id = p_lease_id;
    end if;
end
$$;
comment on function queen_store.extend_lease(uuid, uuid, integer) is
    'Prolongs every live lease of one pop; never shortens or revives one. Locks: cursors ascending (partition_id, group_id), then leases: one row; waits.';

-- queen_store.sweep_leases: removes rows of leases that ran out ten minutes ago or more. Until then
-- nothing is lost by leaving them, nor after: an expired lease is never prolonged.
-- Called by  StorageProcedures
-- Locks      leases ascending lease_id, skip locked
-- Returns    rows removed; fewer than p_limit = there are no more of them that are not locked
-- Cost       1 statement, which walks the primary key from the oldest row on and stops at p_limit;
--            it passes over the rows of leases that live, so no index is kept for it
create or replace function queen_store.sweep_leases(p_limit integer)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
    v_expired_before timestamptz := clock_timestamp() - interval '10 minutes';
    v_removed integer;
begin
    delete from queen_store.leases l
    where l.lease_id = any (array(
        select e.lease_id
        from queen_store.leases e
        where e.expires_at < v_expired_before
        order by e.lease_id
        limit p_limit
        for update skip locked));
    get diagnostics v_removed = row_count;
    return v_removed;
end
$$;
comment on function queen_store.sweep_leases(integer) is
    'Removes rows of leases that ran out long ago. Locks: leases ascending lease_id, skip locked.';

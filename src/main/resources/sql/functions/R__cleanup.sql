-- Cleaning up: rows that nothing shows and no call reaches any more. What a queue delete, a group
-- delete or a seek of a whole queue leaves behind, lanes that nobody uses, leases that are over.
-- All of it in bounded steps that skip whatever somebody holds, and leave it for a later run.
--
-- Segments are not deleted here. A segment whose lane has no row is dead: a lane's number is never
-- given to another, so nobody can reach it, and its bytes come back when its epoch goes.

-- queen_store.has_remains: whether a queue delete, a group delete or a seek left something behind.
-- Called by  StorageProcedures
-- Locks      none
-- Returns    true also where what is left cannot be removed yet
-- Cost       1 statement, two index probes
create or replace function queen_store.has_remains()
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
    return exists (
            select from queen_store.queues q where q.deleted_at is not null)
        or exists (
            select from queen_store.groups g where g.swept_generation < g.generation);
end
$$;
comment on function queen_store.has_remains() is
    'Whether a queue delete, a group delete or a seek left something behind. Locks: none.';

-- queen_store.clean_deleted_queue: a step of removing a deleted queue: up to p_limit lanes with
-- their cursors and dead letters; when none is left, its groups and its row. The row stays as long
-- as a transaction is open that may have made a lane before the delete.
-- Commits without a flush, for what is lost is done again: called by brokers in autocommit only.
-- Called by  StorageProcedures
-- Locks      queues: one row, skip locked; partitions, skip locked; cursors, skip locked;
--            dead_letters and groups of that queue, skip locked
-- Returns    one row: the queue, and rows removed; 0 = no more can be done now. No row = there is
--            no deleted queue with a number above p_after_queue_id
-- Cost       at most 8 statements; up to 10 cursors and 10 dead letters per lane, the rest with the
--            next step
create or replace function queen_store.clean_deleted_queue(
    p_after_queue_id integer, p_limit integer)
returns table (queue_id integer, removed bigint)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
    v_queue_id integer;
    v_deleted_at timestamptz;
    v_lanes bigint[];
    v_rows bigint;
    v_removed bigint := 0;
begin
    select q.id, q.deleted_at into v_queue_id, v_deleted_at
    from queen_store.queues q
    where q.id > p_after_queue_id and q.deleted_at is not null
    order by q.id
    limit 1
    for update skip locked;
    if not found then
        return;
    end if;

    v_lanes := array(
        select p.id
        from queen_store.partitions p
        where p.queue_id = v_queue_id
        order by p.name
        limit p_limit
        for update skip locked);
    -- By place in the table: rows that are locked stay where they are.
    delete from queen_store.cursors c
    where c.ctid = any (array(
        select c.ctid
        from queen_store.cursors c
        where c.partition_id = any (v_lanes)
        limit 10 * p_limit
        for update skip locked));
    get diagnostics v_rows = row_count;
    v_removed := v_removed + v_rows;
    delete from queen_store.dead_letters d
    where d.ctid = any (array(
        select d.ctid
        from queen_store.dead_letters d
        where d.partition_id = any (v_lanes)
        limit 10 * p_limit
        for update skip locked));
    get diagnostics v_rows = row_count;
    v_removed := v_removed + v_rows;
    delete from queen_store.partitions p
    where p.id = any (array(
        select l.id
        from unnest(v_lanes) l (id)
        where not exists (
                select from queen_store.cursors c where c.partition_id = l.id)
          and not exists (
                select from queen_store.dead_letters d where d.partition_id = l.id)));
    get diagnostics v_rows = row_count;
    v_removed := v_removed + v_rows;

    if v_removed = 0
        and not exists (
            select from queen_store.partitions p where p.queue_id = v_queue_id)
        and coalesce(queen_store.oldest_writer() > v_deleted_at, true)
    then
        delete from queen_store.groups g
        where g.ctid = any (array(
            select g.ctid
            from queen_store.groups g
            where g.queue_id = v_queue_id
            limit 10 * p_limit
            for update skip locked));
        get diagnostics v_removed = row_count;
        if v_removed = 0 and not exists (
                select from queen_store.groups g where g.queue_id = v_queue_id) then
            delete from queen_store.queues q where q.id = v_queue_id;
            v_removed := 1;
        end if;
    end if;
    return query select v_queue_id, v_removed;
    perform set_config('synchronous_commit', 'off', true);
end
$$;
comment on function queen_store.clean_deleted_queue(integer, integer) is
    'A step of removing what a deleted queue has left. Locks: queues: one row, skip locked; partitions, skip locked; cursors, skip locked; dead_letters and groups of that queue, skip locked.';

-- queen_store.stale_group: the next group that may have cursors of an older generation.
-- Called by  StorageProcedures
-- Locks      none
-- Returns    one row with its generation, or none
-- Cost       1 statement, one index probe
create or replace function queen_store.stale_group(p_after_group_id integer)
returns table (group_id integer, generation integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    return query
    select g.id, g.generation
    from queen_store.groups g
    where g.id > p_after_group_id and g.swept_generation < g.generation
    order by g.id
    limit 1;
end
$$;
comment on function queen_store.stale_group(integer) is
    'The next group that may have cursors of an older generation. Locks: none.';

-- queen_store.sweep_cursors: a step of removing the cursors of a group that are older than a
-- generation: those in the next p_limit lanes of its queue, by name. They count as absent already.
-- The step that finds no further lane marks the group as swept, if p_clean says that no step before
-- it has left anything.
-- Commits without a flush, for what is lost is done again: called by brokers in autocommit only.
-- Called by  StorageProcedures
-- Locks      groups: one row, skip locked, in the last step; cursors, skip locked
-- Returns    one row: the lane it came to, null = there are no more; cursors removed; whether every
--            one it found was removed
-- Cost       4 statements, one index probe per lane
create or replace function queen_store.sweep_cursors(
    p_group_id integer, p_generation integer, p_after_name text, p_clean boolean, p_limit integer)
returns table (last_name text, removed bigint, clean boolean)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_lanes bigint[];
    v_last_name text;
    v_removed bigint;
    v_clean boolean;
begin
    select array_agg(p.id), case when count(*) = p_limit then max(p.name) end
    into v_lanes, v_last_name
    from (
        select p.id, p.name
        from queen_store.groups g
        cross join lateral (
            select p.id, p.name
            from queen_store.partitions p
            where p.queue_id = g.queue_id and p.name > p_after_name
            order by p.name
            limit p_limit) p
        where g.id = p_group_id) p;
    delete from queen_store.cursors c
    where c.ctid = any (array(
        select c.ctid
        from unnest(v_lanes) l (id)
        cross join lateral (
            select c.ctid
            from queen_store.cursors c
            where c.partition_id = l.id and c.group_id = p_group_id
              and c.generation < p_generation
            for update skip locked) c));
    get diagnostics v_removed = row_count;
    v_clean := p_clean and not exists (
        select
        from unnest(v_lanes) l (id)
        cross join lateral (
            select c.generation
            from queen_store.cursors c
            where c.partition_id = l.id and c.group_id = p_group_id
            limit 1) c
        where c.generation < p_generation);
    if v_clean and v_last_name is null then
        update queen_store.groups g
        set swept_generation = p_generation
        where g.id = any (array(
            select g.id
            from queen_store.groups g
            where g.id = p_group_id and g.swept_generation < p_generation
            for no key update skip locked));
    end if;
    return query select v_last_name, v_removed, v_clean;
    perform set_config('synchronous_commit', 'off', true);
end
$$;
comment on function queen_store.sweep_cursors(integer, integer, text, boolean, integer) is
    'A step of removing the cursors of a group that are older than a generation. Locks: groups: one row, skip locked, in the last step; cursors, skip locked.';

-- queen_store.remove_idle_lanes: a step of removing lanes that nobody uses: empty, made and last
-- written before p_before and before their dedup window, without a dead letter, a live lease or the
-- cursor of a group that is not registered. Their cursors go with them. A push to such a lane makes
-- it anew, under another number.
-- Commits without a flush, for what is lost is done again: called by brokers in autocommit only.
-- Called by  StorageProcedures
-- Locks      partitions, skip locked; cursors, skip locked; retention_history: rows of this minute,
--            by queue
-- Returns    one row: lanes removed, the lane looked at last, by time of last write and number, to
--            begin the next step behind it, null = there are no more; and the queues that lost
--            lanes, for whoever waits for one by its number
-- Cost       7 statements; a few index probes per lane
create or replace function queen_store.remove_idle_lanes(
    p_now timestamptz, p_before timestamptz, p_after_write timestamptz, p_after_id bigint,
    p_limit integer)
returns table (
    removed integer, last_write_at timestamptz, last_id bigint, queue_ids integer[])
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_page bigint[];
    v_last_write_at timestamptz;
    v_last_id bigint;
    v_lanes bigint[];
    v_cursors tid[];
    v_queue_ids integer[];
begin
    select array_agg(p.id), (array_agg(p.last_write_at order by p.last_write_at, p.id))[p_limit],
           (array_agg(p.id order by p.last_write_at, p.id))[p_limit]
    into v_page, v_last_write_at, v_last_id
    from (
        select p.id, p.last_write_at
        from queen_store.partitions p
        where p.oldest_live_at is null and p.last_write_at < p_before
          and p.last_write_at >= p_after_write
          and (p.last_write_at, p.id) > (p_after_write, p_after_id)
        order by p.last_write_at, p.id
        limit p_limit) p;
    v_lanes := array(
        select p.id
        from queen_store.partitions p
        where p.id = any (v_page) and p.created_at < p_before
        for update skip locked);
    v_cursors := array(
        select c.ctid
        from queen_store.cursors c
        where c.partition_id = any (v_lanes)
        for update skip locked);
    -- Only now, under the locks, it is decided; who holds a cursor keeps its lane.
    v_lanes := array(
        select p.id
        from unnest(v_lanes) l (id)
        cross join lateral (
            select p.id, p.queue_id, p.last_write_at, p.oldest_live_at
            from queen_store.partitions p
            where p.id = l.id
            limit 1) p
        cross join lateral (
            select q.deleted_at, q.dedup_window_seconds
            from queen_store.queues q
            where q.id = p.queue_id
            limit 1) q
        where p.oldest_live_at is null and p.last_write_at < p_before and q.deleted_at is null
          and p.last_write_at < p_now - make_interval(secs => q.dedup_window_seconds + 1)
          and not exists (
              select from queen_store.dead_letters d where d.partition_id = l.id)
          and not exists (
              select
              from queen_store.cursors c
              left join lateral (
                  select g.generation, g.start_rule, g.seek_rule
                  from queen_store.groups g
                  where g.id = c.group_id
                  limit 1) g on true
              where c.partition_id = l.id
                and (c.ctid <> all (v_cursors) or c.lease_expires_at > p_now
                     -- The place of a group that pops single lanes is nowhere but in this row.
                     or (c.generation = g.generation
                         and g.start_rule is null and g.seek_rule is null))));
    delete from queen_store.cursors c where c.partition_id = any (v_lanes);
    with removed as (
        delete from queen_store.partitions p where p.id = any (v_lanes) returning p.queue_id)
    select array_agg(r.queue_id) into v_queue_ids from removed r;
    -- They were empty, so nothing but their number changes.
    perform queen_store.add_counts(
        array_agg(i.queue_id), array_agg(0), array_agg(-1::bigint), null, null, null, null, null,
        null, false)
    from unnest(v_queue_ids) i (queue_id);
    insert into queen_store.retention_history as h (
        minute, tenant_id, queue, rule, messages, lanes, steps)
    select date_trunc('minute', p_now), q.tenant_id, q.name, 'partition_cleanup', 0, count(*), 1
    from unnest(v_queue_ids) i (queue_id)
    cross join lateral (
        select q.tenant_id, q.name
        from queen_store.queues q
        where q.id = i.queue_id
        limit 1) q
    group by q.tenant_id, q.name
    order by q.tenant_id, q.name
    on conflict (minute, tenant_id, queue, rule) do update
    set lanes = h.lanes + excluded.lanes, steps = h.steps + 1;
    return query
    select coalesce(cardinality(v_queue_ids), 0), v_last_write_at, v_last_id,
           array(select distinct i.queue_id from unnest(v_queue_ids) i (queue_id));
    perform set_config('synchronous_commit', 'off', true);
end
$$;
comment on function queen_store.remove_idle_lanes(
    timestamptz, timestamptz, timestamptz, bigint, integer) is
    'A step of removing lanes that are empty and have not been written for long. Locks: partitions, skip locked; cursors, skip locked; retention_history: rows of this minute, by queue.';

-- queen_store.has_idle_lanes: whether a lane is empty and has not been written since p_before.
-- Called by  StorageProcedures
-- Locks      none
-- Returns    true also where something keeps the lane
-- Cost       1 statement, one index probe
create or replace function queen_store.has_idle_lanes(p_before timestamptz)
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
    return exists (
        select
        from queen_store.partitions p
        where p.oldest_live_at is null and p.last_write_at < p_before);
end
$$;
comment on function queen_store.has_idle_lanes(timestamptz) is
    'Whether a lane is empty and has not been written since an instant. Locks: none.';

-- queen_store.has_leftovers: whether a lease of several lanes, a trace of a bundle or a row of
-- history is over.
-- Called by  StorageProcedures
-- Locks      none
-- Returns    p_history_before = rows of history older than that are over
-- Cost       1 statement; reads the rows of live leases until it finds one that is over
create or replace function queen_store.has_leftovers(p_history_before timestamptz)
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
    return exists (
            select
            from queen_store.leases l
            where l.expires_at < clock_timestamp() - interval '10 minutes')
        or exists (
            select
            from (
                select b.committed_at from queen_store.bundles b order by b.bundle_id limit 1) b
            where b.committed_at < clock_timestamp() - interval '10 minutes')
        or exists (
            select from queen_store.retention_history h where h.minute < p_history_before);
end
$$;
comment on function queen_store.has_leftovers(timestamptz) is
    'Whether a lease of several lanes, a trace of a bundle or a row of history is over. Locks: none.';

-- queen_store.sweep_bundles: removes traces of bundles that nobody asks for any more, oldest first.
-- Called by  StorageProcedures
-- Locks      bundles, skip locked
-- Returns    rows removed; fewer than p_limit = that was all
-- Cost       1 statement, one index range
create or replace function queen_store.sweep_bundles(p_limit integer)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_removed integer;
begin
    delete from queen_store.bundles b
    where b.ctid = any (array(
        select o.ctid
        from (
            select b.ctid, b.committed_at
            from queen_store.bundles b
            order by b.bundle_id
            limit p_limit
            for update skip locked) o
        where o.committed_at < clock_timestamp() - interval '10 minutes'));
    get diagnostics v_removed = row_count;
    perform set_config('synchronous_commit', 'off', true);
    return v_removed;
end
$$;
comment on function queen_store.sweep_bundles(integer) is
    'Removes traces of bundles that nobody asks for any more. Locks: bundles, skip locked.';

-- queen_store.sweep_history: removes rows of history that are older than an instant.
-- Called by  StorageProcedures
-- Locks      retention_history, skip locked
-- Returns    rows removed; fewer than p_limit = that was all
-- Cost       1 statement, one index range
create or replace function queen_store.sweep_history(p_before timestamptz, p_limit integer)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_removed integer;
begin
    delete from queen_store.retention_history h
    where h.ctid = any (array(
        select h.ctid
        from queen_store.retention_history h
        where h.minute < p_before
        order by h.minute
        limit p_limit
        for update skip locked));
    get diagnostics v_removed = row_count;
    perform set_config('synchronous_commit', 'off', true);
    return v_removed;
end
$$;
comment on function queen_store.sweep_history(timestamptz, integer) is
    'Removes rows of history that are older than an instant. Locks: retention_history, skip locked.';

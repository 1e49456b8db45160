-- What connectors ask that follow a queue with all its lanes: which were written, and until when
-- they have seen everything.

-- queen_store.safe_time: no message that is stored from now on has a created_at before this. To be
-- read before the lanes are: whoever reads them since the safe time of before misses none.
-- Called by  ChangeReads, storage_gauges
-- Locks      none
-- Returns    one row: 5 s before now, or before the start of the oldest transaction that may hold
--            messages nobody sees yet, which held_by names where it has been open for over 60 s;
--            degraded = the server hides the start of such a one, which then counts as 60 s old
--            (grant pg_read_all_stats)
-- Cost       1 statement over the lock table
create or replace function queen_store.safe_time()
returns table (safe_at timestamptz, degraded boolean, held_by text)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    -- Read before the locks are: a writer that comes after them stamps later than this.
    v_now timestamptz := clock_timestamp();
begin
    select least(v_now, w.started_at) - interval '5 seconds', coalesce(w.hidden, false),
           case when w.started_at < v_now - interval '60 seconds' then format(
               case when w.pid is null then 'prepared transaction %2$s' else 'pid %s, %s' end,
               w.pid, coalesce(nullif(w.application_name, ''), 'no application_name')) end
    into safe_at, degraded, held_by
    from (select) n
    left join queen_store.oldest_writer_session() w on true;
    return next;
end
$$;
comment on function queen_store.safe_time() is
    'No message that is stored from now on has a created_at before this. Locks: none.';

-- queen_store.list_changes: a page of the lanes of a queue: all of them by name, or those that were
-- written since, by time of last write and name. While pages are read a lane that is written may
-- come twice, and none is missed.
-- Called by  ChangeReads
-- Locks      none
-- Returns    no row = no such queue; else at least one, partition null = the page is empty.
--            p_since null = all, else every lane that holds a message created since, and those that
--            were written last up to a second before: last_write_at is exact to that; p_after_* =
--            behind that row of the page before
-- Cost       1 statement, one index range of p_limit lanes
create or replace function queen_store.list_changes(
    p_tenant_id uuid, p_queue text, p_since timestamptz, p_after_at timestamptz,
    p_after_name text, p_limit integer)
returns table (
    partition text, last_offset bigint, log_start bigint, last_write_at timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
    v_queue_id integer;
begin
    select q.id into v_queue_id
    from queen_store.queues q
    where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null;
    if not found then
        return;
    end if;
    if p_since is null then
        return query
        select p.name, p.last_offset, p.log_start, p.last_write_at
        from (select) n
        left join (
            select p.name, p.last_offset, p.log_start, p.last_write_at
            from queen_store.partitions p
            where p.queue_id = v_queue_id and p.name > coalesce(p_after_name, '')
            order by p.name
            limit p_limit) p on true
        order by p.name;
        return;
    end if;
    return query
    select p.name, p.last_offset, p.log_start, p.last_write_at
    from (select) n
    left join (
        select p.name, p.last_offset, p.log_start, p.last_write_at
        from queen_store.partitions p
        where p.queue_id = v_queue_id
          and p.last_write_at >= greatest(p_since - interval '1 second', p_after_at)
          and (p_after_at is null
               or (p.last_write_at, p.name) > (p_after_at, p_after_name))
        order by p.last_write_at, p.name
        limit p_limit) p on true
    order by p.last_write_at, p.name;
end
$$;
comment on function queen_store.list_changes(
    uuid, text, timestamptz, timestamptz, text, integer) is
    'A page of the lanes of a queue, all of them or those written since. Locks: none.';

-- Dead letters: listing, deleting, and moving them back into a lane. A row is never changed: it is
-- there or it is gone.

-- queen_store.list_dead_letters: a page of what groups gave up, newest first.
-- Called by  DeadLetterReads
-- Locks      none
-- Returns    at most p_limit rows behind p_offset, or behind the row (p_before_at, p_before_id);
--            null = any, for every filter; p_search is sought in the error, whatever its case.
--            Payloads come up to 16 MiB a page, omitted = it was there but is left out
-- Cost       1 statement; per queue one index range from its newest row down, as far as the page
--            and rows that a filter passes over go
create or replace function queen_store.list_dead_letters(
    p_tenant_id uuid, p_queue text, p_group text, p_partition text, p_from timestamptz,
    p_to timestamptz, p_search text, p_before_at timestamptz, p_before_id bigint, p_limit integer,
    p_offset integer)
returns table (
    id bigint, queue text, partition_id bigint, partition text, consumer_group text,
    "offset" bigint, message_id uuid, transaction_id text, payload bytea, omitted boolean,
    flags smallint, trace_id uuid, producer text, created_at timestamptz, error text,
    retry_count integer, failed_at timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
-- The index has the order; a sort would read all there is for one page.
set enable_sort = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    with page as materialized (
        select k.id, k.queue
        from (
            select d.id, d.failed_at, q.name as queue
            from queen_store.queues q
            cross join lateral (
                select queen_store.lane_named(q.id, p_partition) as partition_id
                offset 0) l
            cross join lateral (
                select d.id, d.failed_at
                from queen_store.dead_letters d
                where d.queue_id = q.id
                  and (d.failed_at, d.id)
                      < (coalesce(p_before_at, 'infinity'),
                         coalesce(p_before_id, 9223372036854775807))
                  and d.failed_at >= coalesce(p_from, '-infinity')
                  and d.failed_at <= coalesce(p_to, 'infinity')
                  and (p_group is null or d.group_name = p_group)
                  and (p_partition is null or d.partition_id = l.partition_id)
                  and (p_search is null or strpos(lower(d.error), lower(p_search)) > 0)
                order by d.failed_at desc, d.id desc
                limit p_limit + p_offset) d
            where q.tenant_id = p_tenant_id and q.deleted_at is null
              and (p_queue is null or q.name = p_queue)) k
        order by k.failed_at desc, k.id desc
        limit p_limit offset p_offset)
    select w.id, w.queue, w.partition_id, w.partition, w.group_name, w."offset", w.message_id,
           w.transaction_id, case when w.bytes_so_far <= 16777216 then w.payload end,
           w.payload is not null and w.bytes_so_far > 16777216, w.flags, w.trace_id, w.producer,
           w.created_at, w.error, w.retry_count, w.failed_at
    from (
        select d.*, k.queue, p.name as partition,
               sum(octet_length(d.payload)) over (
                   order by d.failed_at desc, d.id desc rows unbounded preceding) as bytes_so_far
        from page k
        cross join lateral (
            select d.*
            from queen_store.dead_letters d
            where d.id = k.id
            limit 1) d
        left join lateral (
            select p.name
            from queen_store.partitions p
            where p.id = d.partition_id
            limit 1) p on true) w
    order by w.failed_at desc, w.id desc;
end
$$;
comment on function queen_store.list_dead_letters(
    uuid, text, text, text, timestamptz, timestamptz, text, timestamptz, bigint, integer,
    integer) is
    'A page of dead letters, newest first. Locks: none.';

-- queen_store.count_dead_letters: how many rows those filters let through.
-- Called by  DeadLetterReads
-- Locks      none
-- Returns    one row: their number among the p_max rows that were looked at, and whether there are
--            more to look at, in which case it is only the least there are
-- Cost       1 statement; one index range per queue, p_max + 1 rows in all, however few of them the
--            filters let through
create or replace function queen_store.count_dead_letters(
    p_tenant_id uuid, p_queue text, p_group text, p_partition text, p_from timestamptz,
    p_to timestamptz, p_search text, p_max integer)
returns table (total bigint, capped boolean)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
    return query
    select count(*) filter (
               where l.place <= p_max
                 and (p_group is null or l.group_name = p_group)
                 and (p_partition is null or l.partition_id = l.wanted)
                 and (p_search is null or strpos(lower(l.error), lower(p_search)) > 0)),
           count(*) > p_max
    from (
        select d.group_name, d.partition_id, d.error, n.partition_id as wanted,
               row_number() over () as place
        from queen_store.queues q
        cross join lateral (
            select queen_store.lane_named(q.id, p_partition) as partition_id
            offset 0) n
        cross join lateral (
            select d.group_name, d.partition_id, d.error
            from queen_store.dead_letters d
            where d.queue_id = q.id
              and d.failed_at >= coalesce(p_from, '-infinity')
              and d.failed_at <= coalesce(p_to, 'infinity')
            order by d.failed_at desc, d.id desc
            limit p_max + 1) d
        where q.tenant_id = p_tenant_id and q.deleted_at is null
          and (p_queue is null or q.name = p_queue)
        limit p_max + 1) l;
end
$$;
comment on function queen_store.count_dead_letters(
    uuid, text, text, text, timestamptz, timestamptz, text, integer) is
    'Number of dead letters that filters let through, among as many as may be looked at. Locks: none.';

-- queen_store.dead_letters_of: the dead letters of one address, one per time a group gave it up.
-- Called by  DeadLetterProcedures, delete_dead_letter
-- Locks      none
-- Returns    their numbers, newest first
-- Cost       1 statement, one index probe of (lane, key). Of a message whose payload had expired
--            the transactionId may be the key in hexadecimal
create or replace function queen_store.dead_letters_of(
    p_tenant_id uuid, p_partition_id bigint, p_transaction_id text)
returns table (id bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_keys bytea[] := array[
        queen_store.key_of(p_transaction_id),
        case when p_transaction_id ~ '^[0-9a-f]{32}$' then decode(p_transaction_id, 'hex') end];
begin
    return query
    select d.id
    from (
        select d.id, d.queue_id, d.failed_at
        from queen_store.dead_letters d
        where d.partition_id = p_partition_id and d.key = any (v_keys)
          and d.transaction_id = p_transaction_id
        offset 0) d
    cross join lateral (
        select q.tenant_id, q.deleted_at
        from queen_store.queues q
        where q.id = d.queue_id
        limit 1) q
    where q.tenant_id = p_tenant_id and q.deleted_at is null
    order by d.failed_at desc, d.id desc;
end
$$;
comment on function queen_store.dead_letters_of(uuid, bigint, text) is
    'Numbers of the dead letters of one message, newest first. Locks: none.';

-- queen_store.delete_dead_letter: removes the dead letters of one address, of every group.
-- Called by  DeadLetterProcedures
-- Locks      dead_letters, ascending id, waits up to 1 s each: leaves
-- Returns    how many there were
-- Cost       2 statements, index probes only
create or replace function queen_store.delete_dead_letter(
    p_tenant_id uuid, p_partition_id bigint, p_transaction_id text)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
set enable_seqscan = off
as $$
declare
    v_ids bigint[];
    v_deleted integer;
begin
    select array_agg(l.id) into v_ids
    from (
        select d.id
        from queen_store.dead_letters d
        where d.id = any (array(
            select o.id
            from queen_store.dead_letters_of(p_tenant_id, p_partition_id, p_transaction_id) o))
        order by d.id
        for update) l;
    delete from queen_store.dead_letters d where d.id = any (v_ids);
    get diagnostics v_deleted = row_count;
    return v_deleted;
end
$$;
comment on function queen_store.delete_dead_letter(uuid, bigint, text) is
    'Removes the dead letters of one message, of every group. Locks: dead_letters, ascending id, waits up to 1 s each: leaves.';

-- queen_store.delete_dead_letters: removes a step of the dead letters of a queue or of one group in
-- it, oldest first; the next step begins behind the last row of this one.
-- Called by  DeadLetterProcedures
-- Locks      dead_letters, skip locked: whoever is moving one takes it away
-- Returns    one row: how many of the p_limit rows looked at are gone now, and the last of them;
--            null = there are no more up to p_until
-- Cost       2 statements, one index range of p_limit rows
create or replace function queen_store.delete_dead_letters(
    p_tenant_id uuid, p_queue text, p_group text, p_until timestamptz, p_after_at timestamptz,
    p_after_id bigint, p_limit integer)
returns table (deleted integer, last_at timestamptz, last_id bigint)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_ids bigint[];
begin
    select array_agg(d.id order by d.failed_at, d.id),
           (array_agg(d.failed_at order by d.failed_at desc, d.id desc))[1],
           (array_agg(d.id order by d.failed_at desc, d.id desc))[1]
    into v_ids, last_at, last_id
    from (
        select d.id, d.failed_at
        from queen_store.dead_letters d
        where d.queue_id = (
                select q.id
                from queen_store.queues q
                where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null)
          and (d.failed_at, d.id) > (coalesce(p_after_at, '-infinity'), coalesce(p_after_id, 0))
          and d.failed_at <= p_until
        order by d.failed_at, d.id
        limit p_limit) d;
    delete from queen_store.dead_letters d
    where d.id = any (array(
        select l.id
        from queen_store.dead_letters l
        where l.id = any (v_ids) and (p_group is null or l.group_name = p_group)
        for update skip locked));
    get diagnostics deleted = row_count;
    return next;
end
$$;
comment on function queen_store.delete_dead_letters(
    uuid, text, text, timestamptz, timestamptz, bigint, integer) is
    'Removes a step of the dead letters of a queue or of one group in it. Locks: dead_letters, skip locked: whoever is moving one takes it away.';

-- queen_store.oldest_dead_letters: what a bulk replay moves, in the order in which it was given up.
-- Called by  DeadLetterProcedures
-- Locks      none
-- Returns    at most p_limit rows behind the row (p_after_at, p_after_id), oldest first; null = all
-- Cost       1 statement, one index range
create or replace function queen_store.oldest_dead_letters(
    p_tenant_id uuid, p_queue text, p_group text, p_after_at timestamptz, p_after_id bigint,
    p_limit integer)
returns table (id bigint, partition_id bigint, failed_at timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    select d.id, d.partition_id, d.failed_at
    from queen_store.dead_letters d
    where d.queue_id = (
            select q.id
            from queen_store.queues q
            where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null)
      and (d.failed_at, d.id) > (coalesce(p_after_at, '-infinity'), coalesce(p_after_id, 0))
      and (p_group is null or d.group_name = p_group)
    order by d.failed_at, d.id
    limit p_limit;
end
$$;
comment on function queen_store.oldest_dead_letters(
    uuid, text, text, timestamptz, bigint, integer) is
    'Numbers of the oldest dead letters of a queue or of one group in it. Locks: none.';

-- queen_store.replay_dead_letter: moves a dead letter to the end of a lane, its own where none is
-- named; queue and lane are made where missing. The copy carries the transactionId dlq:<number>. It
-- appears and the row goes in one commit, so however often this is called there is one copy.
-- Called by  DeadLetterProcedures
-- Locks      advisory on the names of a missing queue and lane; queues and partitions: new rows;
--            partitions: one row; dead_letters: the row, a leaf; epochs as append; waits up to 1 s
--            each
-- Returns    one row: moved; duplicate (that transactionId is in the lane already; nothing is
--            written); gone (no such row: deleted, moved by another, not the tenant's); expired
--            (its payload had expired before it was given up); no_partition (its lane is gone and
--            none is named); seal or open (nothing is written: the destination wants the payload,
--            which comes along, encrypted or in the clear, and it is not; come again with that);
--            with the names of the destination, and of what moved offset, id, time
-- Raises     QN503 busy
-- Cost       some 12 statements; 16 bytes read per message the lane took within its dedup window,
--            all but the newest of them before the lane is locked
create or replace function queen_store.replay_dead_letter(
    p_tenant_id uuid, p_id bigint, p_queue text, p_partition text,
    -- What to store in the place of its payload, and whether that is an envelope; null = as it is.
    p_payload bytea, p_encrypted boolean)
returns table (
    verdict text, queue text, partition text, consumer_group text, transaction_id text,
    queue_id integer, partition_id bigint, "offset" bigint, message_id uuid,
    created_at timestamptz, payload bytea)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
    v_letter queen_store.dead_letters%rowtype;
    v_replay_id constant text := 'dlq:' || p_id;
    v_key constant bytea := queen_store.key_of('dlq:' || p_id);
    v_seen bigint;
    v_last bigint;
    v_since timestamptz;
    v_wants_envelope boolean;
    v_is_envelope boolean;
    v_appended text;
begin
    select d.* into v_letter from queen_store.dead_letters d where d.id = p_id;
    select q.name into queue
    from queen_store.queues q
    where q.id = v_letter.queue_id and q.tenant_id = p_tenant_id and q.deleted_at is null;
    if queue is null then
        verdict := 'gone';
        return next;
        return;
    end if;
    queue := coalesce(p_queue, queue);
    partition := coalesce(p_partition, (
        select p.name from queen_store.partitions p where p.id = v_letter.partition_id));
    consumer_group := v_letter.group_name;
    transaction_id := v_letter.transaction_id;
    if partition is null or v_letter.payload is null then
        verdict := case when partition is null then 'no_partition' else 'expired' end;
        return next;
        return;
    end if;

    select l.queue_id, l.partition_id into queue_id, partition_id
    from queen_store.provision_lanes(p_tenant_id, array[queue], array[partition]) l;
    if p_queue is null and queue_id <> v_letter.queue_id then
        -- Nobody asked for the queue that has just been made under its name.
        raise exception using errcode = 'QN503', message = 'busy',
            detail = 'the queue it was to go to was deleted meanwhile';
    end if;
    select q.encryption_enabled,
           case when q.dedup_window_seconds > 0
                then clock_timestamp() - make_interval(secs => q.dedup_window_seconds) end
    into v_wants_envelope, v_since
    from queen_store.queues q
    where q.id = queue_id;
    v_is_envelope := coalesce(p_encrypted, v_letter.flags & 32 <> 0);
    -- An envelope that comes along is one that nobody could open: it may go anywhere.
    if v_wants_envelope and not v_is_envelope
        or v_is_envelope and not v_wants_envelope and p_payload is null
    then
        verdict := case when v_wants_envelope then 'seal' else 'open' end;
        payload := v_letter.payload;
        return next;
        return;
    end if;

    -- What the log holds by now does not change: so much is searched without holding the lane up.
    select p.last_offset into v_seen from queen_store.partitions p where p.id = partition_id;
    if not exists (
            select
            from queen_store.find_originals(
                array[partition_id], array[v_seen], array[v_since], array[1], array[v_key])) then
        perform 1 from queen_store.partitions p where p.id = partition_id for no key update;
        perform 1 from queen_store.dead_letters d where d.id = p_id for update;
        if not found then
            verdict := 'gone';
            return next;
            return;
        end if;
        select p.last_offset into v_last from queen_store.partitions p where p.id = partition_id;
        if not exists (
                select
                from queen_store.read_keys(
                    partition_id, v_seen + 1, v_last, v_since, 2147483647) k
                cross join generate_series(0, (k.end_offset - k.base_offset)::integer) n (position)
                where substr(k.keys, n.position * 16 + 1, 16) = v_key
                  and k.base_offset + n.position > v_seen) then
            -- Under the lock and after the search, this call vouches for all there is.
            select a.verdict, a.base_offset, a.created_at
            into v_appended, "offset", created_at
            from queen_store.encode_frames(
                array[v_replay_id], array[coalesce(p_payload, v_letter.payload)],
                array[v_letter.trace_id], v_letter.producer, null) f
            cross join lateral queen_store.append(
                array[partition_id], array[hashtextextended(gen_random_uuid()::text, 0)],
                array[-1::bigint], array[v_last], array[null::bigint], array[1],
                array[f.message_count], array[f.keys],
                -- Whether the payload is an envelope, or no JSON, the flags alone can tell.
                array[set_byte(
                    f.frames, 4, get_byte(f.frames, 4) | (v_letter.flags & 64)::integer
                        | case when v_is_envelope then 32 else 0 end)],
                true) a;
            if v_appended is distinct from 'queued' then
                raise exception using errcode = 'QN503', message = 'busy',
                    detail = 'the queue it was to go to was deleted meanwhile';
            end if;
            delete from queen_store.dead_letters d where d.id = p_id;
            message_id := queen_store.message_id(created_at, partition_id, "offset");
            verdict := 'moved';
            return next;
            return;
        end if;
    end if;
    -- What is in the lane may be the copy that another has made since the row was read.
    verdict := case when exists (select from queen_store.dead_letters d where d.id = p_id)
                    then 'duplicate' else 'gone' end;
    return next;
end
$$;
comment on function queen_store.replay_dead_letter(uuid, bigint, text, text, bytea, boolean) is
    'Moves a dead letter to the end of a lane, once however often it is called. Locks: advisory on the names of a missing queue and lane; queues and partitions: new rows; partitions: one row; dead_letters: the row, a leaf; epochs as append; waits up to 1 s each.';

-- Key/value: one function for any number of operations, whoever asks: a route, the SQL API, a
-- transaction. Each kind of operation is one statement, however many keys it has. One instant
-- decides for all of them what is still there.
--
-- Two calls never wait for each other in a circle. A call first makes the rows that it needs and
-- does not find, in byte order of (namespace, key), while it holds only rows that it has made; then
-- it locks the rows of all its operations, in the same order; then it writes, and waits for nothing
-- more. In both steps it so waits for a later key than those it holds, and what is made and not
-- committed nobody sees who locks: a circle would have to lie within one step, and there keys only
-- ascend.
-- Rows should not go away between the steps: a delete leaves its row, expired since ever, to the
-- job that removes expired keys.

-- queen_store.apply_kv: reads and writes keys. Checks see what was there before the call, a get
-- what the operations before it on the same key have left, and reads of many keys what all of the
-- call has left. A key is written once in a call (the caller sees to that).
-- Called by  run_kv, transact, queen.kv_apply
-- Locks      kv, rows it makes and then all, each in byte order of (namespace, key); share for a
--            check; waits
-- Returns    one row per operation, of a list one per key and one at its end:
--            get, read   found or absent; read also cut: the answer is full
--            list        row; end, if there is no key; more or cut behind the last row, if there
--                        may be further keys, with a key where they are behind that one and not
--                        behind that of the last row; cut alone, if the answer was full before
--            check, put, delete, incr
--                        applied, or what stands in the way: exists, absent, version, limit, type;
--                        then with the value and version that are there. The value of an applied
--                        put is not repeated.
--            A key that is absent has version 0.
-- Raises     40001 key_removed (an expired row, between the two steps); brokers repeat the call
-- Cost       per kind of operation 1 statement of primary key probes; with writes or checks up to 3
--            more that tell what to make, make it, and lock
create or replace function queen_store.apply_kv(
    p_tenant_id uuid,
    -- Per operation: get, read, list, check, put, delete, incr.
    p_ops text[], p_namespaces text[],
    -- Of a list the prefix, which may be empty.
    p_keys text[], p_values text[],
    -- Null = for ever.
    p_ttl_seconds bigint[],
    -- Null = whatever is there, 0 = nothing, else the version.
    p_expects bigint[],
    p_deltas numeric[], p_mins numeric[], p_maxs numeric[],
    -- Of a list: where it goes on, how many, and whether without values.
    p_afters text[], p_limits integer[], p_keys_only boolean[],
    -- Once so many bytes are read, what may be left out is.
    p_read_bytes bigint)
returns table (
    item integer, verdict text, key text, value text, version bigint, expires_at timestamptz,
    updated_at timestamptz)
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
    v_now timestamptz := clock_timestamp();
    v_writes boolean := p_ops && '{put,delete,incr}';
    -- Operations that make their key if it is absent, and those of a key that is, or has ended:
    -- whoever removes it may not have committed yet, and making it waits for that.
    v_makers integer[] := '{}';
    v_absent integer[] := '{}';
    -- Operations that have taken effect.
    v_done integer[] := '{}';
    -- Checks and gets of keys that this call has made, and which so were absent.
    v_early integer[] := '{}';
    -- Gets of keys that an operation before them writes.
    v_late integer[] := '{}';
    -- By operation that checks or writes: where its row is, which is locked and so stays there.
    v_places tid[];
    v_at tid;
    v_bytes bigint := 0;
    v_full boolean := false;
    v_list integer := 0;
    v_place integer;
    v_size integer;
begin
    if p_ops && '{put,incr}' then
        select coalesce(array_agg(i.item), '{}'),
               coalesce(array_agg(i.item) filter (
                   where k.version is null or k.expires_at <= v_now), '{}')
        into v_makers, v_absent
        from unnest(p_ops, p_namespaces, p_keys, p_expects, p_deltas, p_mins, p_maxs)
            with ordinality as i (op, namespace, key, expect, delta, least, most, item)
        left join lateral (
            select k.version, k.expires_at
            from queen_store.kv k
            where k.tenant_id = p_tenant_id and k.namespace = i.namespace and k.key = i.key
            limit 1) k on true
        where (i.op = 'put' and coalesce(i.expect, 0) = 0)
           or (i.op = 'incr' and (i.delta between i.least and i.most) is not false);
    end if;

    if cardinality(v_absent) > 0 then
        -- A lock is made without an owner: its token may only be drawn when nobody else can get in
        -- between.
        for item, key, value, version, expires_at in
            with made as (
                insert into queen_store.kv as k (
                    tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
                select p_tenant_id, i.namespace, i.key, i.value,
                       case when i.namespace = 'queen-locks' then 0
                            else nextval('queen_store.kv_versions') end,
                       case when i.namespace = 'queen-locks' then '-infinity'
                            else v_now + make_interval(secs => i.ttl_seconds) end,
                       v_now, v_now
                from (
                    select i.namespace, i.key, i.ttl_seconds,
                           case when i.op = 'put' then i.value
                                else trim_scale(i.delta)::text end as value
                    from unnest(p_ops, p_namespaces, p_keys, p_values, p_ttl_seconds, p_deltas)
                        with ordinality as i (op, namespace, key, value, ttl_seconds, delta, item)
                    where i.item = any (v_absent)
                    order by i.namespace collate "C", i.key collate "C") i
                on conflict (tenant_id, namespace, key) do nothing
                returning k.namespace, k.key, k.value, k.version, k.expires_at)
            select i.item, m.key, case when i.op = 'incr' then m.value end, m.version,
                   m.expires_at
            from made m
            join unnest(p_ops, p_namespaces, p_keys) with ordinality
                as i (op, namespace, key, item)
                on i.namespace = m.namespace and i.key = m.key and i.op in ('put', 'incr')
            where m.namespace <> 'queen-locks'
        loop
            verdict := 'applied';
            updated_at := v_now;
            v_done := v_done || item;
            return next;
        end loop;
    end if;

    if (v_writes or 'check' = any (p_ops)) and cardinality(v_done) < cardinality(p_ops) then
        v_places := array_fill(null::tid, array[cardinality(p_ops)]);
        -- One statement for locks of both strengths, or two calls could wait for each other.
        for item, v_at in
            select i.item,
                   case when i.op = 'check' then (
                       select k.ctid
                       from queen_store.kv k
                       where k.tenant_id = p_tenant_id and k.namespace = i.namespace
                         and k.key = i.key
                       for share)
                   else (
                       select k.ctid
                       from queen_store.kv k
                       where k.tenant_id = p_tenant_id and k.namespace = i.namespace
                         and k.key = i.key
                       for no key update)
                   end
            from (
                select i.op, i.namespace, i.key, i.item
                from unnest(p_ops, p_namespaces, p_keys) with ordinality
                    as i (op, namespace, key, item)
                where i.op in ('check', 'put', 'delete', 'incr') and i.item <> all (v_done)
                order by i.namespace collate "C", i.key collate "C", i.op = 'check') i
        loop
            if v_at is null and item = any (v_makers) then
                raise exception using errcode = '40001', message = 'key_removed',
                    detail = 'an expired key was removed while the call waited',
                    hint = 'Repeat the call, as after any serialization failure.';
            end if;
            v_places[item] := v_at;
        end loop;
        -- After the locks: a key may have expired while the call waited for them.
        v_now := clock_timestamp();
    end if;

    if cardinality(v_done) > 0 and p_ops && '{check,get}' then
        select coalesce(array_agg(w.item), '{}') into v_early
        from (
            select i.op, i.item,
                   bool_or(i.item = any (v_done)) over (partition by i.namespace, i.key) as made
            from unnest(p_ops, p_namespaces, p_keys) with ordinality
                as i (op, namespace, key, item)) w
        where w.op in ('check', 'get') and w.made;
    end if;

    if v_writes and 'get' = any (p_ops) then
        select coalesce(array_agg(w.item), '{}') into v_late
        from (
            select i.op, i.item,
                   bool_or(i.op in ('put', 'delete', 'incr')) over (
                       partition by i.namespace, i.key order by i.item) as written
            from unnest(p_ops, p_namespaces, p_keys) with ordinality
                as i (op, namespace, key, item)
            where i.op in ('get', 'put', 'delete', 'incr')) w
        where w.op = 'get' and w.written;
    end if;

    if p_ops && '{check,get}' then
        for item, verdict, key, value, version, expires_at, updated_at in
            select i.item,
                   case
                       when k.version is null then 'absent'
                       when i.op = 'get' then 'found'
                       when k.version = i.expect then 'applied'
                       else 'version'
                   end,
                   i.key, k.value, coalesce(k.version, 0), k.expires_at, k.updated_at
            from unnest(p_ops, p_namespaces, p_keys, p_expects) with ordinality
                as i (op, namespace, key, expect, item)
            left join lateral (
                select k.value, k.version, k.expires_at, k.updated_at
                from queen_store.kv k
                where k.tenant_id = p_tenant_id and k.namespace = i.namespace and k.key = i.key
                  and (k.expires_at is null or k.expires_at > v_now)
                  and i.item <> all (v_early)
                limit 1) k on true
            where i.op = 'check' or (i.op = 'get' and i.item <> all (v_late))
        loop
            v_bytes := v_bytes + coalesce(octet_length(value), 0);
            return next;
        end loop;
    end if;

    -- By place: that is quicker than by key, and a join by key may become a walk over all keys of
    -- the tenant when it is planned on a small table.
    if 'put' = any (p_ops) and v_places is not null then
        for item, key, version, expires_at in
            update queen_store.kv k
            set value = i.value,
                version = case when k.namespace = 'queen-locks'
                    then nextval('queen_store.lock_tokens')
                    else nextval('queen_store.kv_versions') end,
                expires_at = v_now + make_interval(secs => i.ttl_seconds),
                created_at = case when k.expires_at <= v_now then v_now else k.created_at end,
                updated_at = v_now
            from unnest(p_ops, p_values, p_ttl_seconds, p_expects, v_places)
                with ordinality as i (op, value, ttl_seconds, expect, place, item)
            where i.op = 'put' and i.item <> all (v_done) and k.ctid = i.place
              and case
                      when i.expect is null then true
                      when i.expect = 0 then k.expires_at <= v_now
                      else k.version = i.expect and (k.expires_at <= v_now) is not true
                  end
            returning i.item, k.key, k.version, k.expires_at
        loop
            verdict := 'applied';
            value := null;
            updated_at := v_now;
            v_done := v_done || item;
            return next;
        end loop;
    end if;

    if 'incr' = any (p_ops) and v_places is not null then
        -- The window of a counter is as long as at its beginning said.
        for item, key, value, version, expires_at in
            update queen_store.kv k
            set value = trim_scale(i.delta + case when k.expires_at <= v_now then 0
                    else queen_store.kv_number(k.value) end)::text,
                version = case when k.namespace = 'queen-locks'
                    then nextval('queen_store.lock_tokens')
                    else nextval('queen_store.kv_versions') end,
                expires_at = case when k.expires_at <= v_now
                    then v_now + make_interval(secs => i.ttl_seconds) else k.expires_at end,
                created_at = case when k.expires_at <= v_now then v_now else k.created_at end,
                updated_at = v_now
            from unnest(p_ops, p_ttl_seconds, p_deltas, p_mins, p_maxs, v_places)
                with ordinality
                as i (op, ttl_seconds, delta, least, most, place, item)
            where i.op = 'incr' and i.item <> all (v_done) and k.ctid = i.place
              and (k.expires_at <= v_now or queen_store.kv_number(k.value) is not null)
              and (i.delta + case when k.expires_at <= v_now then 0
                      else queen_store.kv_number(k.value) end between i.least and i.most)
                  is not false
            returning i.item, k.key, k.value, k.version, k.expires_at
        loop
            verdict := 'applied';
            updated_at := v_now;
            v_done := v_done || item;
            return next;
        end loop;
    end if;

    if 'delete' = any (p_ops) and v_places is not null then
        -- Since ever, not since now: a clock that is set back brings nothing back. Whoever takes a
        -- lock next waits for this row, and draws a higher token.
        for item, key, value, version, expires_at, updated_at in
            update queen_store.kv k
            set expires_at = '-infinity'
            from unnest(p_ops, p_expects, v_places) with ordinality
                as i (op, expect, place, item)
            where i.op = 'delete' and k.ctid = i.place
              and (i.expect is null or k.version = i.expect)
              and (k.expires_at <= v_now) is not true
            returning i.item, k.key, k.value, k.version, null::timestamptz, k.updated_at
        loop
            verdict := 'applied';
            v_done := v_done || item;
            return next;
        end loop;
    end if;

    if v_writes and cardinality(v_done) < cardinality(p_ops) then
        -- By place: a key that somebody has made since it was not found to be locked is as absent
        -- as it was to the operation.
        return query
        select i.item::integer,
               case
                   when i.op = 'incr' then
                       case when k.version is null or queen_store.kv_number(k.value) is not null
                            then 'limit' else 'type' end
                   when i.op = 'delete' and i.expect = 0 then
                       case when k.version is null then 'applied' else 'exists' end
                   when k.version is null then 'absent'
                   when i.expect = 0 then 'exists'
                   else 'version'
               end,
               i.key, case when i.op = 'incr' then coalesce(k.value, '0') else k.value end,
               coalesce(k.version, 0), k.expires_at, k.updated_at
        from unnest(p_ops, p_keys, p_expects, v_places) with ordinality
            as i (op, key, expect, place, item)
        left join lateral (
            select k.value, k.version, k.expires_at, k.updated_at
            from queen_store.kv k
            where k.ctid = i.place and (k.expires_at is null or k.expires_at > v_now)
            limit 1) k on true
        where i.op in ('put', 'delete', 'incr') and i.item <> all (v_done);
    end if;

    if 'read' = any (p_ops) or cardinality(v_late) > 0 then
        for item, verdict, key, value, version, expires_at, updated_at in
            select i.item, case when k.version is null then 'absent' else 'found' end, i.key,
                   k.value, coalesce(k.version, 0), k.expires_at, k.updated_at
            from unnest(p_ops, p_namespaces, p_keys) with ordinality
                as i (op, namespace, key, item)
            left join lateral (
                select k.value, k.version, k.expires_at, k.updated_at
                from queen_store.kv k
                where k.tenant_id = p_tenant_id and k.namespace = i.namespace and k.key = i.key
                  and (k.expires_at is null or k.expires_at > v_now)
                limit 1) k on true
            where i.op = 'read' or i.item = any (v_late)
            order by i.op, i.item
        loop
            if p_ops[item] = 'read' and v_bytes >= p_read_bytes then
                verdict := 'cut';
                value := null;
            end if;
            v_bytes := v_bytes + coalesce(octet_length(value), 0);
            return next;
        end loop;
    end if;

    if 'list' = any (p_ops) then
        for item, v_place, v_size, key, value, version, expires_at, updated_at in
            select i.item, l.place, l.bytes, l.key, l.value, l.version, l.expires_at, l.updated_at
            from unnest(p_ops, p_namespaces, p_keys, p_afters, p_limits, p_keys_only)
                with ordinality
                as i (op, namespace, prefix, after, most, keys_only, item)
            left join lateral queen_store.list_kv(
                p_tenant_id, i.namespace, i.prefix, i.after, i.most + 1, i.keys_only, false, v_now)
                l on true
            where i.op = 'list'
            order by i.item, l.place
        loop
            if item <> v_list then
                v_list := item;
                v_full := false;
            elsif v_full then
                continue;
            end if;
            v_full := true;
            if v_place is null then
                verdict := 'end';
            elsif v_place > p_limits[item] then
                verdict := 'more';
            elsif v_bytes >= p_read_bytes then
                verdict := 'cut';
            else
                v_full := false;
                verdict := 'row';
                v_bytes := v_bytes + v_size;
            end if;
            if v_full then
                -- Of a row that is no key of the page the next one begins behind it.
                key := case when version is null then key end;
                value := null;
            end if;
            return next;
        end loop;
    end if;
end
$$;

comment on function queen_store.apply_kv(
    uuid, text[], text[], text[], text[], bigint[], bigint[], numeric[], numeric[], numeric[],
    text[], integer[], boolean[], bigint) is
    'Reads and writes any number of keys. Locks: kv, rows it makes and then all, each in byte order of (namespace, key); share for a check; waits.';

-- queen_store.run_kv: a call of its own. If an operation that must be applied is not, nothing of
-- the call takes effect; what it says of its operations stands nevertheless.
-- Called by  KvProcedures
-- Locks      kv, as apply_kv; waits up to p_wait_ms for each
-- Returns    as apply_kv; and if nothing took effect one row undone
-- Raises     QN409 kv_precondition is raised to undo what was done, and caught here
-- Cost       as apply_kv; one subtransaction if an operation must be applied
create or replace function queen_store.run_kv(
    p_tenant_id uuid, p_ops text[], p_namespaces text[], p_keys text[], p_values text[],
    p_ttl_seconds bigint[], p_expects bigint[], p_deltas numeric[], p_mins numeric[],
    p_maxs numeric[], p_afters text[], p_limits integer[], p_keys_only boolean[],
    p_required boolean[], p_read_bytes bigint, p_wait_ms bigint)
returns table (
    item integer, verdict text, key text, value text, version bigint, expires_at timestamptz,
    updated_at timestamptz)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_lost boolean := false;
begin
    -- Until the end of the transaction, which is the call.
    perform set_config('lock_timeout', p_wait_ms::text, true);
    if true <> all (p_required) then
        return query
        select *
        from queen_store.apply_kv(
            p_tenant_id, p_ops, p_namespaces, p_keys, p_values, p_ttl_seconds, p_expects, p_deltas,
            p_mins, p_maxs, p_afters, p_limits, p_keys_only, p_read_bytes);
        return;
    end if;
    begin
        for item, verdict, key, value, version, expires_at, updated_at in
            select *
            from queen_store.apply_kv(
                p_tenant_id, p_ops, p_namespaces, p_keys, p_values, p_ttl_seconds, p_expects,
                p_deltas, p_mins, p_maxs, p_afters, p_limits, p_keys_only, p_read_bytes)
        loop
            v_lost := v_lost or (p_required[item] and verdict <> 'applied');
            return next;
        end loop;
        if v_lost then
            raise exception using errcode = 'QN409', message = 'kv_precondition';
        end if;
    exception when sqlstate 'QN409' then
        item := 0;
        verdict := 'undone';
        return next;
    end;
end
$$;

comment on function queen_store.run_kv(
    uuid, text[], text[], text[], text[], bigint[], bigint[], numeric[], numeric[], numeric[],
    text[], integer[], boolean[], boolean[], bigint, bigint) is
    'Reads and writes any number of keys, unless an operation that must be applied is not: then verdicts and no effect. Locks: kv, as apply_kv; waits up to p_wait_ms for each.';

-- queen_store.kv_number: a JSON number that counters can count with.
-- Called by  apply_kv
-- Locks      none
-- Returns    null = it is no number, or one beyond a thousand digits either side of the point
-- Cost       no statement
create or replace function queen_store.kv_number(p_value text)
returns numeric
language sql immutable parallel safe
return case
    when octet_length(p_value) <= 4096
        and p_value ~ '^-?[0-9]+([.][0-9]+)?([eE][+-]?0*[0-9]{1,3})?$'
    then p_value::numeric
end;

comment on function queen_store.kv_number(text) is
    'A JSON number that counters can count with; null = it is none. Locks: none.';

-- queen_store.list_kv: keys with a prefix, in byte order.
-- Called by  apply_kv, queen.kv_list, KvReads
-- Locks      none
-- Returns    one row per key, in order of place, from 1. Keys that have ended are read too, and not
--            for ever: if p_limit is not reached for that reason there is a row at place p_limit,
--            with no more than the last key that was read, behind which the next page begins
-- Cost       1 statement, one range of the primary key, of at most 10 p_limit + 1,000 keys; where
--            p_limit is not reached 1 more over the same keys
create or replace function queen_store.list_kv(
    p_tenant_id uuid, p_namespace text, p_prefix text,
    -- Begins behind this key; null = at the first one.
    p_after text, p_limit integer, p_keys_only boolean, p_with_expired boolean, p_now timestamptz)
returns table (
    place integer, key text, value text, bytes integer, version bigint, expires_at timestamptz,
    updated_at timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_read_max constant integer := 10 * p_limit + 1000;
    v_shown integer;
begin
    return query
    select row_number() over (order by l.key)::integer, l.key,
           case when not p_keys_only then l.value end,
           octet_length(l.key) + case when p_keys_only then 0 else octet_length(l.value) end,
           l.version, l.expires_at, l.updated_at
    from (
        select r.*
        from (
            select k.key, k.value, k.version, k.expires_at, k.updated_at
            from queen_store.kv k
            where k.tenant_id = p_tenant_id and k.namespace = p_namespace
              and k.key >= greatest(p_prefix collate "C", p_after collate "C")
              -- A key of 512 bytes with this prefix sorts no higher than that.
              and k.key <= p_prefix || repeat(chr(1114111), 128)
              and (p_after is null or k.key > p_after)
            order by k.key
            limit v_read_max) r
        where r.expires_at is null or r.expires_at > p_now
           or (p_with_expired and r.expires_at > '-infinity')
        order by r.key
        limit p_limit) l
    order by l.key;
    get diagnostics v_shown = row_count;

    if v_shown < p_limit then
        return query
        select p_limit, k.key, null::text, 0, null::bigint, null::timestamptz, null::timestamptz
        from queen_store.kv k
        where k.tenant_id = p_tenant_id and k.namespace = p_namespace
          and k.key >= greatest(p_prefix collate "C", p_after collate "C")
          and k.key <= p_prefix || repeat(chr(1114111), 128)
          and (p_after is null or k.key > p_after)
        order by k.key
        offset v_read_max - 1
        limit 1;
    end if;
end
$$;

comment on function queen_store.list_kv(
    uuid, text, text, text, integer, boolean, boolean, timestamptz) is
    'Keys with a prefix, in byte order. Locks: none.';

-- queen_store.list_namespaces: namespaces of a tenant and how many keys they have, ended ones that
-- are not removed yet included.
-- Called by  KvReads
-- Locks      none
-- Returns    at most p_limit rows in byte order; keys are counted up to p_keys_max in all, shared
--            evenly, and capped says where there are more
-- Cost       1 statement: a probe of the primary key for each namespace, and the keys it counts
create or replace function queen_store.list_namespaces(
    p_tenant_id uuid, p_limit integer, p_keys_max bigint)
returns table (namespace text, keys bigint, capped boolean)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_namespaces text[];
    v_most bigint;
begin
    with recursive walk as (
        (select k.namespace, 1 as place
         from queen_store.kv k
         where k.tenant_id = p_tenant_id
         order by k.namespace
         limit 1)
        union all
        select n.namespace, w.place + 1
        from walk w
        cross join lateral (
            select k.namespace
            from queen_store.kv k
            where k.tenant_id = p_tenant_id and k.namespace > w.namespace
            order by k.namespace
            limit 1) n
        where w.place < p_limit)
    select array_agg(w.namespace order by w.place) into v_namespaces
    from walk w;
    v_most := p_keys_max / greatest(1, cardinality(v_namespaces));

    return query
    select n.namespace, least(c.keys, v_most), c.keys > v_most
    from unnest(v_namespaces) with ordinality as n (namespace, place)
    cross join lateral (
        select count(*) as keys
        from (
            select
            from queen_store.kv k
            where k.tenant_id = p_tenant_id and k.namespace = n.namespace
              and k.expires_at is distinct from '-infinity'
            limit v_most + 1) k) c
    where c.keys > 0
    order by n.place;
end
$$;

comment on function queen_store.list_namespaces(uuid, integer, bigint) is
    'Namespaces of a tenant and how many keys they have. Locks: none.';

-- queen_store.kv_backlog: how many keys that have expired or were deleted wait to be removed, and
-- since when the oldest of the former does.
-- Called by  StorageProcedures
-- Locks      none
-- Returns    one row; counts up to p_limit; next_from is where the next look may begin that need
--            not find what was deleted, or committed late
-- Cost       1 statement, one index range. While an old snapshot is open anywhere, also its entries
--            of rows that are gone
create or replace function queen_store.kv_backlog(
    p_now timestamptz, p_limit integer,
    -- Keys of earlier minutes are left out; null = none is.
    p_from timestamptz)
returns table (expired integer, lag_seconds double precision, next_from timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
    v_minute constant timestamptz := date_bin('1 minute', p_now, '2000-01-01 00:00:00+00');
begin
    return query
    select count(*)::integer,
           coalesce(extract(epoch from v_minute - min(k.expiry_minute)), 0)::double precision,
           -- What committed within five minutes is found all the same.
           least(min(k.expiry_minute), v_minute - interval '5 minutes')
    from (
        select nullif(k.expiry_minute, '-infinity') as expiry_minute
        from queen_store.kv k
        where k.expiry_minute is not null and k.expiry_minute < v_minute
          and k.expiry_minute >= coalesce(p_from, '-infinity')
        order by k.expiry_minute
        limit p_limit) k;
end
$$;

comment on function queen_store.kv_backlog(timestamptz, integer, timestamptz) is
    'How many keys have expired or were deleted and wait to be removed, and since when. Locks: none.';

-- queen_store.prune_kv: removes keys that were deleted or have expired, oldest first. What somebody
-- holds, or has given a new life, stays.
-- Called by  StorageProcedures
-- Locks      kv, skip locked
-- Returns    rows removed; fewer than p_limit = that was all, but for what is held
-- Cost       1 statement, one index range. While an old snapshot is open anywhere, also its entries
--            of rows that are gone
create or replace function queen_store.prune_kv(
    p_now timestamptz, p_limit integer,
    -- Keys of earlier minutes are left out; null = none is.
    p_from timestamptz)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
    v_minute constant timestamptz := date_bin('1 minute', p_now, '2000-01-01 00:00:00+00');
    v_removed integer;
begin
    delete from queen_store.kv k
    where k.ctid = any (array(
        select e.ctid
        from queen_store.kv e
        where e.expiry_minute is not null and e.expiry_minute < v_minute
          and e.expiry_minute >= coalesce(p_from, '-infinity')
        order by e.expiry_minute
        limit p_limit
        for update skip locked));
    get diagnostics v_removed = row_count;
    perform set_config('synchronous_commit', 'off', true);
    return v_removed;
end
$$;

comment on function queen_store.prune_kv(timestamptz, integer, timestamptz) is
    'Removes keys that were deleted or have expired, oldest first. Locks: kv, skip locked.';

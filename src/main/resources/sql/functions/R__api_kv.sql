-- queen.kv_*: keys in the caller's own transaction.

-- queen.kv_apply: reads and writes any number of keys as one step. Rows are locked in one order and
-- stay locked until the transaction ends: put all of a step in one call, for two transactions that
-- do it in several may deadlock.
-- Called by  applications, queen.transact, queen.kv_put, queen.kv_delete, queen.kv_incr,
--            queen.kv_check
-- Locks      kv, rows it makes and then all, each in byte order of (namespace, key); share for a
--            check; waits
-- Returns    one row per operation, in order: applied, or exists, absent, version, limit, type with
--            the value and version that are there instead; for a get found or absent
-- Raises     QN400 bad_request, QN409 kv_precondition, 40001 as apply_kv
-- Cost       as apply_kv, for up to 256 operations
create or replace function queen.kv_apply(
    -- Per operation: get, put, delete, incr, check. A key is written at most once.
    p_ops text[], p_namespaces text[], p_keys text[], p_values json[] default null,
    -- Null = for ever.
    p_ttl_seconds bigint[] default null,
    -- Null = whatever is there, 0 = nothing, else the version.
    p_expects bigint[] default null,
    p_deltas numeric[] default null, p_mins numeric[] default null, p_maxs numeric[] default null,
    -- Of these, one that is not applied is an error. A check always is.
    p_required boolean[] default null,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
    ordinal integer, status text, value json, version bigint, expires_at timestamptz,
    updated_at timestamptz)
language plpgsql volatile parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_values text[];
    v_row record;
begin
    v_values := queen_store.require_kv(
        p_ops, p_namespaces, p_keys, p_values, p_ttl_seconds, p_expects, p_deltas, p_mins, p_maxs,
        p_required);
    if coalesce(cardinality(p_ops), 0) = 0 then
        return;
    end if;
    for v_row in
        select a.item, a.verdict, a.value, a.version, a.expires_at, a.updated_at
        from queen_store.apply_kv(
            p_tenant, p_ops, p_namespaces, p_keys, v_values,
            coalesce(p_ttl_seconds, array_fill(null::bigint, array[cardinality(p_ops)])),
            coalesce(p_expects, array_fill(null::bigint, array[cardinality(p_ops)])),
            coalesce(p_deltas, array_fill(null::numeric, array[cardinality(p_ops)])),
            coalesce(p_mins, array_fill(null::numeric, array[cardinality(p_ops)])),
            coalesce(p_maxs, array_fill(null::numeric, array[cardinality(p_ops)])),
            null, null, null, 0) a
        order by a.item
    loop
        ordinal := v_row.item;
        status := v_row.verdict;
        if status <> 'applied' and (p_required[ordinal] or p_ops[ordinal] = 'check') then
            raise exception using errcode = 'QN409', message = 'kv_precondition',
                detail = format('operation %s, %s of key "%s" in namespace "%s": %s', ordinal,
                    p_ops[ordinal], p_keys[ordinal], p_namespaces[ordinal], status);
        end if;
        value := case when status = 'applied' and p_ops[ordinal] = 'put' then v_values[ordinal]
            else v_row.value end::json;
        version := v_row.version;
        expires_at := v_row.expires_at;
        updated_at := v_row.updated_at;
        return next;
    end loop;
end
$$;

comment on function queen.kv_apply(
    text[], text[], text[], json[], bigint[], bigint[], numeric[], numeric[], numeric[], boolean[],
    uuid) is
    'Reads and writes any number of keys as one step of the caller''s transaction. Locks: kv, rows it makes and then all, each in byte order of (namespace, key); share for a check; waits.';

-- queen.kv_put: writes a key, whatever is there, or only if that is what the caller expects.
-- Called by  applications
-- Locks      kv, the row; waits
-- Returns    one row: applied with the new version, or exists, absent, version with what is there
-- Raises     QN400 bad_request
-- Cost       as apply_kv
create or replace function queen.kv_put(
    p_namespace text, p_key text, p_value json,
    -- Null = for ever.
    p_ttl_seconds bigint,
    -- Null = whatever is there, 0 = nothing, else the version.
    p_expect bigint default null,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (status text, value json, version bigint)
language plpgsql volatile parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    select a.status, a.value, a.version
    from queen.kv_apply(
        array['put'], array[p_namespace], array[p_key], array[p_value], array[p_ttl_seconds],
        array[p_expect], p_tenant => p_tenant) a;
end
$$;

comment on function queen.kv_put(text, text, json, bigint, bigint, uuid) is
    'Writes a key, whatever is there, or only if that is what the caller expects. Locks: kv, the row; waits.';

-- queen.kv_delete: removes a key, whatever is there, or only if that is what the caller expects.
-- Called by  applications
-- Locks      kv, the row; waits
-- Returns    one row: applied with what was there, or absent, exists, version with what is there
-- Raises     QN400 bad_request
-- Cost       as apply_kv
create or replace function queen.kv_delete(
    p_namespace text, p_key text, p_expect bigint default null,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (status text, value json, version bigint)
language plpgsql volatile parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    select a.status, a.value, a.version
    from queen.kv_apply(
        array['delete'], array[p_namespace], array[p_key], p_expects => array[p_expect],
        p_tenant => p_tenant) a;
end
$$;

comment on function queen.kv_delete(text, text, bigint, uuid) is
    'Removes a key, whatever is there, or only if that is what the caller expects. Locks: kv, the row; waits.';

-- queen.kv_incr: adds to a number; a key that is absent counts as 0 and begins a window of its time
-- to live. Beyond a bound nothing is written.
-- Called by  applications
-- Locks      kv, the row; waits
-- Returns    one row: applied with the new number, or limit, type with what is there
-- Raises     QN400 bad_request
-- Cost       as apply_kv
create or replace function queen.kv_incr(
    p_namespace text, p_key text, p_delta numeric,
    -- Null = for ever.
    p_ttl_seconds bigint,
    p_min numeric default null, p_max numeric default null,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (status text, value json, version bigint)
language plpgsql volatile parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    select a.status, a.value, a.version
    from queen.kv_apply(
        array['incr'], array[p_namespace], array[p_key], null, array[p_ttl_seconds], null,
        array[p_delta], array[p_min], array[p_max], p_tenant => p_tenant) a;
end
$$;

comment on function queen.kv_incr(text, text, numeric, bigint, numeric, numeric, uuid) is
    'Adds to a number, within bounds. Locks: kv, the row; waits.';

-- queen.kv_check: keeps a key as it is until the transaction ends, and fails if it is not at that
-- version: what fences a transaction with a lock that its holder may have lost.
-- Called by  applications
-- Locks      kv, the row, share; waits
-- Returns    the version
-- Raises     QN400 bad_request, QN409 kv_precondition
-- Cost       as apply_kv
create or replace function queen.kv_check(
    p_namespace text, p_key text, p_expect bigint,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns bigint
language plpgsql volatile parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
    return (
        select a.version
        from queen.kv_apply(
            array['check'], array[p_namespace], array[p_key], p_expects => array[p_expect],
            p_tenant => p_tenant) a);
end
$$;

comment on function queen.kv_check(text, text, bigint, uuid) is
    'Fails unless a key is at that version, and keeps it there until the transaction ends. Locks: kv, the row, share; waits.';

-- queen.kv_get: reads a key.
-- Called by  applications
-- Locks      none
-- Returns    one row; none = the key is absent
-- Cost       1 statement, one probe of the primary key
create or replace function queen.kv_get(
    p_namespace text, p_key text,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (value json, version bigint, expires_at timestamptz, updated_at timestamptz)
language plpgsql stable parallel safe
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    select k.value::json, k.version, k.expires_at, k.updated_at
    from queen_store.kv k
    where k.tenant_id = p_tenant and k.namespace = p_namespace and k.key = p_key
      and (k.expires_at is null or k.expires_at > clock_timestamp());
end
$$;

comment on function queen.kv_get(text, text, uuid) is
    'Reads a key. Locks: none.';

-- queen.kv_list: reads keys that begin with a prefix, in byte order, a page at a time.
-- Called by  applications
-- Locks      none
-- Returns    one row per key; the last one's key is p_after of the next page. A page that passes
--            very many keys that have ended may end before it is full, with a row that has a key
--            and nothing else
-- Raises     QN400 bad_request
-- Cost       as list_kv
create or replace function queen.kv_list(
    p_namespace text, p_prefix text default '', p_after text default null,
    p_limit integer default 100,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
    key text, value json, version bigint, expires_at timestamptz, updated_at timestamptz)
language plpgsql stable parallel safe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    perform queen_store.require_number('limit', p_limit, 1, 1000);
    return query
    select l.key, l.value::json, l.version, l.expires_at, l.updated_at
    from queen_store.list_kv(
        p_tenant, p_namespace, coalesce(p_prefix, ''), p_after, p_limit, false, false,
        clock_timestamp()) l
    order by l.place;
end
$$;

comment on function queen.kv_list(text, text, text, integer, uuid) is
    'Reads keys that begin with a prefix, in byte order, a page at a time. Locks: none.';

-- queen_store.require_kv: refuses operations on keys that cannot be carried out.
-- Called by  queen.kv_apply
-- Locks      none
-- Returns    the values as they are stored
-- Raises     QN400 bad_request
-- Cost       2 statements over the arguments
create or replace function queen_store.require_kv(
    p_ops text[], p_namespaces text[], p_keys text[], p_values json[], p_ttl_seconds bigint[],
    p_expects bigint[], p_deltas numeric[], p_mins numeric[], p_maxs numeric[],
    p_required boolean[])
returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count integer := coalesce(cardinality(p_ops), 0);
    v_values text[];
    v_fault text;
begin
    perform queen_store.require_number('number of operations', v_count, 0, 256);
    if cardinality(p_namespaces) is distinct from v_count
            or cardinality(p_keys) is distinct from v_count
            or cardinality(p_values) <> v_count or cardinality(p_ttl_seconds) <> v_count
            or cardinality(p_expects) <> v_count or cardinality(p_deltas) <> v_count
            or cardinality(p_mins) <> v_count or cardinality(p_maxs) <> v_count
            or cardinality(p_required) <> v_count then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = format('every array must have one element per operation, %s of them', v_count);
    end if;
    -- White space around a value is no part of it.
    v_values := array(
        select btrim(p_values[i.ordinal]::text, e' \t\n\r')
        from generate_series(1, v_count) as i (ordinal)
        order by i.ordinal);
    select format('operation %s: %s', i.ordinal, i.fault) into v_fault
    from (
        select i.ordinal,
               case
                   when i.op is null or i.op not in ('get', 'put', 'delete', 'incr', 'check') then
                       'must be get, put, delete, incr or check, got ' || coalesce(i.op, 'null')
                   when i.namespace is null
                           or i.namespace !~ '^[a-z0-9][a-z0-9._-]{0,63}$' then
                       'namespace must be 1 to 64 characters a-z, 0-9, ., _ and -, the first a'
                       ' letter or digit'
                   when i.key is null or octet_length(i.key) not between 1 and 512 then
                       'key must be 1 to 512 bytes of UTF-8'
                   when i.op = 'put' and i.value is null then 'value is missing'
                   when octet_length(i.value) > 65536 then
                       'value must be at most 65536 bytes, got ' || octet_length(i.value)
                   when i.ttl_seconds not between 1 and 100000000000 then
                       'ttl must be 1 to 100000000000 seconds, got ' || i.ttl_seconds
                   when i.expect < 0 or (i.op = 'check' and coalesce(i.expect, 0) = 0) then
                       'expect must be a version'
                   -- Neither NaN nor infinity is one.
                   when i.op = 'incr' and not coalesce(
                           abs(i.delta) < 1e1000 and scale(i.delta) < 1000, false) then
                       'delta must be a number of at most 1000 digits'
                   when i.op = 'incr' and not coalesce(
                           abs(i.least) < 1e1000 and scale(i.least) < 1000, i.least is null) then
                       'min must be a number of at most 1000 digits'
                   when i.op = 'incr' and not coalesce(
                           abs(i.most) < 1e1000 and scale(i.most) < 1000, i.most is null) then
                       'max must be a number of at most 1000 digits'
                   when i.op in ('put', 'delete', 'incr') and i.writes > 1 then
                       'a call writes a key at most once'
               end as fault
        from (
            select i.*,
                   count(*) filter (where i.op in ('put', 'delete', 'incr')) over (
                       partition by i.namespace, i.key) as writes
            from unnest(
                p_ops, p_namespaces, p_keys, v_values, p_ttl_seconds, p_expects, p_deltas, p_mins,
                p_maxs) with ordinality
                as i (op, namespace, key, value, ttl_seconds, expect, delta, least, most,
                      ordinal)) i) i
    where i.fault is not null
    order by i.ordinal
    limit 1;
    if v_fault is not null then
        raise exception using errcode = 'QN400', message = 'bad_request', detail = v_fault;
    end if;
    return v_values;
end
$$;

comment on function queen_store.require_kv(
    text[], text[], text[], json[], bigint[], bigint[], numeric[], numeric[], numeric[],
    boolean[]) is
    'Refuses operations on keys that cannot be carried out. Locks: none.';

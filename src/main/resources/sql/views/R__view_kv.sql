-- Which keys are there?
create or replace view queen.kv as
select
    k.namespace,
    k.key,
    k.value::json as value,
    k.version,
    k.created_at,
    k.updated_at,
    k.expires_at,
    coalesce(k.expires_at <= clock_timestamp(), false) as expired,
    octet_length(k.value) as bytes,
    k.tenant_id
from queen_store.kv k
where k.expires_at is distinct from '-infinity';

comment on view queen.kv is
    'Keys and their values, expired ones that are not removed yet included. Filter it by tenant_id and namespace, which the primary key begins with.';
comment on column queen.kv.namespace is 'Set of keys of one purpose; the keys of queen-locks are locks.';
comment on column queen.kv.key is 'Key, in byte order.';
comment on column queen.kv.value is 'Value, as it was written.';
comment on column queen.kv.version is 'Version; of a lock the fencing token.';
comment on column queen.kv.created_at is 'When the key came to be, after it was absent.';
comment on column queen.kv.updated_at is 'When it was last written.';
comment on column queen.kv.expires_at is 'From then on it is absent; null = never.';
comment on column queen.kv.expired is 'Whether that time has come.';
comment on column queen.kv.bytes is 'Length of the value.';
comment on column queen.kv.tenant_id is 'Owner; 00000000-0000-0000-0000-000000000001 without tenancy.';

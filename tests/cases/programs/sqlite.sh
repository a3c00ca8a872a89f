# SPDX-License-Identifier: MIT
# sqlite3: tables, indices, recursion, a rollback.
need sqlite3
. "$SRC/tests/lib/program.sh"
same_as_plain sampled exact verify <<'END'
sqlite3 data.db <<'S'
create table t(id integer primary key, name text, n real, b blob);
begin;
with recursive c(i) as (select 1 union all select i + 1 from c where i < 20011)
insert into t select i, 'name' || (i * 7919 % 20011), i / 7.0, zeroblob(i % 101) from c;
commit;
create index by_name on t(name);
select count(*), sum(length(b)), round(sum(n), 3) from t;
select name from t order by name desc limit 3;
select group_concat(x) from (select id % 7 as g, count(*) as x from t group by g);
begin;
delete from t where id % 2;
rollback;
vacuum;
pragma integrity_check;
select count(*) from t a join t b on a.name = b.name;
S
sqlite3 data.db 'select no_such from t'
echo "status $?"
END

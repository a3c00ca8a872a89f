# SPDX-License-Identifier: MIT
# git: commits, packs, garbage collection, check.
need git
. "$SRC/tests/lib/program.sh"
same_as_plain sampled exact verify <<'END'
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@example.org
export GIT_AUTHOR_DATE='2001-02-03T04:05:06Z' GIT_COMMITTER_DATE='2001-02-03T04:05:06Z' GIT_CONFIG_NOSYSTEM=1
git init -q -b main repo
cd repo
for i in 1 2 3 4 5; do
    for j in $(seq 23); do seq $((i * j)) 2000 >file$j; done
    git add -A
    git commit -q -m "number $i"
done
git log --format='%H %s'
git gc --quiet --aggressive
git fsck --full --strict
git diff HEAD~2 --stat | tail -n 1
git checkout -q -b side HEAD~3
echo side >>file1
git commit -qam side
git merge -q main 2>&1
git status --short | sort
git clone -q . ../copy
git -C ../copy log --oneline | wc -l
git rev-parse no-such-thing
echo "status $?"
END

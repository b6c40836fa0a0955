#!/bin/bash
# Known mistakes, put into a copy of what numbers messages one by one: test_numbers has to fail with each of them, and
# to pass without any. A mutation whose place is no longer found is a failure, too.
#
#     SOURCE=FOLDER [CC=cc] numbers_mutations.sh [NAME]
set -eu
: "${SOURCE:?}" "${CC:=cc}"
only=${1-}
work=$(mktemp -d "${TMPDIR:-/tmp}/gnomon-mutations.XXXXXX")
trap 'rm -rf "$work"' EXIT
flags="-std=gnu17 -D_GNU_SOURCE -O1 -w"
failed=0 tried=0
ulimit -c 0
mkdir "$work/once" "$work/tree"
for name in counts overlaps postings numbers; do
    $CC $flags -I"$SOURCE/src" -c "$SOURCE/src/capture/$name.c" -o "$work/once/$name.o"
done
for name in matching_world test_numbers; do
    $CC $flags -I"$SOURCE/src" -I"$SOURCE/tests/unit" -c "$SOURCE/tests/unit/$name.c" -o "$work/once/$name.o"
done

try() { # try CHANGED
    local objects="" name
    for name in counts overlaps postings numbers; do
        [ "$name" = "$1" ] || objects="$objects $work/once/$name.o"
    done
    $CC $flags -I"$SOURCE/src" -c "$work/tree/$1.c" -o "$work/tree/$1.o" || return 99
    $CC "$work/tree/$1.o" $objects "$work"/once/{matching_world,test_numbers}.o -lcmocka -lm -o "$work/test" || return 99
    for operations in 20000 200000; do # most are caught at once: the first test that fails is enough
        { CMOCKA_TEST_ABORT=1 timeout 100 "$work/test" -n $operations -s 5 >"$work/out" 2>&1; } 2>/dev/null || return
    done
}

# mutation NAME FILE FROM TO: TO instead of FROM, which has to be there.
mutation() {
    local name=$1 file=$2 status=0
    [ -z "$only" ] || [ "$only" = "$name" ] || return 0
    tried=$((tried + 1))
    if ! python3 - "$SOURCE/src/capture/$file.c" "$work/tree/$file.c" "$3" "$4" <<'END'
import sys
path, to, old, new = sys.argv[1:]
text = open(path).read()
if old not in text:
    sys.exit(f"{path}: not found: {old}")
open(to, "w").write(text.replace(old, new))
END
    then
        echo "FAILED: $name: its place is gone from $file.c: mend tests/unit/numbers_mutations.sh"
        failed=1
        return 0
    fi
    try "$file" || status=$?
    if [ $status = 0 ] || [ $status = 99 ]; then
        echo "FAILED: $name: $([ $status = 0 ] && echo not caught || echo does not compile)"
        failed=1
    else
        echo "caught: $name"
    fi
}

cp "$SOURCE/src/capture/numbers.c" "$work/tree"
if ! try numbers; then
    echo "FAILED: without any mutation"
    exit 1
fi

mutation "no waiting for wildcards"   postings "verdict = WAIT;" "verdict = CLEAR;"
mutation "lost wildcards forgotten"   postings "if (group->lost < when)" "if (false)"
mutation "lost from the beginning"    postings "if (group->lost < when)" "if (group->lost != UINT64_MAX)"
mutation "wildcards take hidden tags" overlaps "gn_tags_meet(overlaps->places[i].tag, tag)" "overlaps->places[i].tag == tag"
mutation "release stops early"        postings "if (record->when > until)" "if (record->when + 2 > until)"
mutation "release begins late"        postings "at(p, i)->when > when; i = at(p, i)->previous)" "at(p, i)->when > when + 2; i = at(p, i)->previous)"
mutation "release out of order"       postings "while (after && at(p, after)->when > record->when)" "while (false)"
mutation "no correction"              postings "number - 1;" "number;"
mutation "correction for all"         postings "bare(number) <= correction->number)" "false)"
mutation "correction for newer ones"  postings "correction->epoch <= *epoch" "false"
mutation "correction for others"      postings "correction->tag != tag" "false"
mutation "correction goes too early"  postings "--correction->left == 0" "(correction->left = 0) == 0"
mutation "cancel takes its place"     postings "count->next--;" ";"
mutation "cancel does not delay"      postings "bare(ahead->number) < bare(record->number)" "false"
mutation "cancel is final at once"    postings "p->settled_epoch = GN_EPOCH_NONE;" "p->settled_epoch = p->epoch;"
mutation "deferred are not told"      postings "    release_deferred(p, context);
}

void gn_posting_cancelled" "}

void gn_posting_cancelled"
mutation "freed after cancel is known" postings "record, behind(count, record), record->freed)" "record, behind(count, record), false)"
mutation "freed after cancel: counts"  postings "        gn_count_spoil(p->counts, where, record->tag);" "        ;"
mutation "a gone one waits on"        postings "        take_out(p, &p->known, at(p, i));
        give_up(p, at(p, i), context);" "        ;"
mutation "no floor"                   postings "if (*epoch < p->floor)" "if (false)"
mutation "no room for it: no matter"  postings "        if (verdict == WAIT)
            gn_count_spoil(" "        if (false)
            gn_count_spoil("
mutation "no room for wildcard: no matter" postings "if (group && when < group->lost)
            group->lost = when;" ";"
mutation "no room for group: no matter" postings "p->lost = when < p->lost ? when : p->lost;" ";"
mutation "evicted begins again"       counts   "    refuse(counts, &left);" ""
mutation "spoiled begins again"       counts   "        refuse(counts, &places);" "        ;"
mutation "gone: too early"            counts   "    if (counts->gone_count == GN_COUNT_GONE)" "    counts->gone[0] = comm + 1;
    if (counts->gone_count == GN_COUNT_GONE)"
mutation "split loses"                counts   "                way++;
                continue;" "                way += 2;
                continue;"
mutation "key without tag"            counts   "set[way].where == where && set[way].tag == tag" "set[way].where == where"
mutation "overlaps one way"           overlaps "overlaps->places[i].unordered = met = true;" "met = true;"
mutation "overlaps the other way"     overlaps "overlaps->places[place].unordered = met;" "overlaps->places[place].unordered = false;"
mutation "overlaps on any tag"        overlaps "gn_peers_meet(overlaps->places[i].peer, peer)" "overlaps->places[i].peer == peer"
mutation "failed wildcards"           numbers  "gn_posting_lose(&numbers->postings, comm, peer, tag);" ";"
mutation "withdrawn sends"            numbers  "    gn_count_spoil(&numbers->sides[GN_NUMBER_SEND].counts, gn_count_where(comm, dest), tag);" ""
mutation "one count for both sides"   numbers  "gn_count_at(&numbers->sides[GN_NUMBER_RECEIVE].counts" "gn_count_at(&numbers->sides[GN_NUMBER_SEND].counts"

echo "$tried mutations"
exit $failed

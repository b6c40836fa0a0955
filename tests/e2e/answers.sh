# What commands answer, as text for every width, as CSV and as JSON: nothing is wider than the terminal, and all forms
# tell the same.
. "$(dirname "$0")/lib.sh"

# fits WORD...: the lines of `gnomon WORD...`, of every width that is asked for; and they are plain letters where there are no others
fits() {
    rm -rf repaired
    LC_ALL=C run plain "$gnomon" "$@"
    ! LC_ALL=C grep -anP '[^\x00-\x7f]' "$work/plain.out" || fail "LC_ALL=C gnomon $*: not plain letters"
    for width in 72 80 100 140; do
        rm -rf repaired
        COLUMNS=$width run text "$gnomon" "$@"
        python3 - $width "$work/text.out" "$*" <<'END' || fail "gnomon $*: wider than $width columns"
import re, sys
width, words = int(sys.argv[1]), sys.argv[3]
for line in open(sys.argv[2], encoding="utf-8").read().splitlines():
    copied = re.match("(analyse|next): gnomon|written: |  gnomon ", line)  # commands stay whole, and so do paths
    path = len(line.split()[-1]) > width - 31 if line.split() else False
    if len(line) > width and not copied and not path:
        sys.exit("gnomon %s: %d columns: %s" % (words, len(line), line))
END
    done
}

# same WORD...: the rows of the CSV form are those of the JSON form, LIST of it
same() {
    local list=$1
    shift
    run csv "$gnomon" "$@" --format csv
    [ "$status" = 0 ] || fail "gnomon $* --format csv: exit status $status"
    run json "$gnomon" "$@" --format json
    python3 - "$work/csv.out" "$work/json.out" "$list" "$*" <<'END' || fail "gnomon $*: CSV and JSON differ"
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
objects = json.load(open(sys.argv[2]))[sys.argv[3]]
assert len(rows) == len(objects) > 0, (len(rows), len(objects))
def close(text, value):
    return abs(float(text) - value) <= 6e-7 # digits of CSV
compared = 0
for row, thing in zip(rows, objects):
    for name, value in thing.items():
        if isinstance(value, dict) and name + "_lo" in row:
            assert close(row[name + "_lo"], value["lo"]) and close(row[name + "_hi"], value["hi"]), (name, row, value)
        elif name not in row or isinstance(value, (dict, list, bool)):
            continue
        elif value is None:
            assert row[name] in ("", "0"), (name, row[name])
        elif isinstance(value, str):
            assert row[name] == value, (name, row[name], value)
        else:
            assert close(row[name], value), (name, row[name], value)
        compared += 1
assert compared >= 2 * len(rows), "nothing was compared: %s" % sys.argv[4]
END
}

case $1 in
trace)
    run synth "$gnomon" synth stencil2 -n 12 -e 6000 --slower compute:50%@2 --domains 3 --offset 1ms --rate 5ppm -o t
    for words in stragglers 'stragglers --phase' whatif critical 'critical --by rank' paths frames 'frames --aggregated' \
        'whatif --region compute --faster 20%' 'order --stats' clock check; do
        fits $words t
    done
    fits frames -w '2 busy and any waiting' t
    fits sync -o repaired t
    same stragglers stragglers t
    same answers whatif t
    same rows critical t
    same paths paths t
    ;;
run)
    run_gnomon run "$examples/heat.$FLAVOUR" --nx 256 --ny 64 --iterations 20
    wait_for_report run
    folder=$(folder_of run)
    for by in activity callpath region function line rank host pair; do
        fits report "$folder" --by $by
        case $by in
        region) ;; # it names none
        pair) same pairs report "$folder" --by pair ;;
        *) same activities report "$folder" --by $by ;;
        esac
    done
    ! report run --by callpath --top 0 | grep -q … || fail "a call path is shortened"
    fits doctor
    fits clock "$folder"
    ;;
esac

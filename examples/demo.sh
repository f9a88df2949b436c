#!/bin/sh
# The main job on the example messages: four topics, three languages. They were written for this demo.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }
run() { say plausible "$@"; plausible "$@"; }

echo "216 messages about food, health, money and travel, in English, Polish and Chinese."
run learn "$here/messages.csv" --target topic --text text -o "$work/topics.plausible" --format table
run evaluate "$here/messages.csv" --target topic --text text --leave-one-out --format table
run classify "$work/topics.plausible" "$here/new/1.txt" "$here/new/2.txt" "$here/new/3.txt" "$here/new/4.txt" "$here/new/5.txt" --format table
run explain "$work/topics.plausible" "$here/new/2.txt" --top 8 --format table
run words "$work/topics.plausible" --class health --top 6 --format table

cat <<'NEXT'

Next steps, with your own files:
  . .venv/bin/activate
  plausible learn FOLDER -o mine.plausible     a folder with one sub-folder a class, a CSV, an mbox, ...
  plausible evaluate FOLDER                    how good will it be?
  plausible classify mine.plausible FILE...    which class is each of these?
  plausible --help                             everything else
NEXT

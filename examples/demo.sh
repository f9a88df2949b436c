#!/bin/sh
# The main job on the example messages: four topics, three languages. They were written for this demo.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); fi
run() { printf '\n%s$ plausible %s%s\n' "$bold" "$*" "$plain"; plausible "$@" --format table; }

echo "216 messages about food, health, money and travel, in English, Polish and Chinese."
run learn examples/messages.csv --target topic --text text -o build/topics.plausible
run evaluate examples/messages.csv --target topic --text text --leave-one-out
run classify build/topics.plausible examples/new
run explain build/topics.plausible examples/new/2.txt --top 8
run words build/topics.plausible --class health --top 6

cat <<'NEXT'

Next steps, with your own files:
  . .venv/bin/activate
  plausible learn FOLDER -o mine.plausible     a folder with one sub-folder a class, a CSV, an mbox, ...
  plausible evaluate FOLDER                    how good will it be?
  plausible classify mine.plausible FILE...    which class is each of these?
  plausible --help                             everything else
NEXT

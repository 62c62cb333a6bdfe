#!/bin/sh
# Loads the last enforced table of this host before the network comes up and before Node can run.
#
#   load.sh STATE_DIR
#
# Does nothing if there is no saved table, if the operator or an expired trial disabled the edge, or if the table
# exists already. A damaged text is not loaded.
# Exit code 1: a table could not be loaded, or the loaded one is outdated.
set -u
PATH=/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL

state=${1:?STATE_DIR is missing}
whole=$state/enforced/table.nft
since=$state/enforced/table-since.nft

say() { echo "portcullis: $*" >&2; }
leave() { say "$*, so nothing is loaded"; exit 0; }
fail() { say "$*"; exit 1; }

# The last line of a text is the checksum of all lines before it.
checksum() { tail -n 1 "$1" | sed -n 's/^# sha256 \([0-9a-f]\{64\}\)$/\1/p'; }
intact() {
  sum=$(checksum "$1")
  [ -n "$sum" ] && [ "$(sed '$d' "$1" | sha256sum | cut -d ' ' -f 1)" = "$sum" ]
}

[ -e "$whole" ] || leave "no edge has enforced here"
[ ! -e "$state/off.json" ] || leave "this edge is switched off"
# Whoever locked himself out may end a trial by a reboot.
if [ -e "$state/confirm.json" ] && ! grep -q '"confirmed":true' "$state/confirm.json"; then
  leave "enforcing is on trial and not confirmed"
fi
# What is loaded may do anything to the packet filter: only what our own account wrote.
[ -z "$(find "$state" -prune ! -user "$(id -u)")" ] || fail "$state is of another account"
command -v nft >/dev/null || fail "the nft command (package nftables) is not installed"
if nft list chains inet 2>/dev/null | grep -q '^table inet portcullis {'; then
  leave "our table is there already"
fi

intact "$whole" || fail "$whole is damaged"
nft -f "$whole" || fail "the kernel refuses $whole"
if [ -e "$since" ] && head -n 1 "$since" | grep -q "^# after $(checksum "$whole")\$"; then
  intact "$since" || fail "$since is damaged: what is enforced is a little older"
  nft -f "$since" || fail "the kernel refuses $since: what is enforced is a little older"
fi

# With a SYN proxy, conntrack must not pick up established connections (filters/supervisor.ts).
loose=/proc/sys/net/netfilter/nf_conntrack_tcp_loose
if cat "$whole" "$since" 2>/dev/null | grep -q synproxy; then
  echo 0 2>/dev/null >"$loose" || fail "$loose cannot be set"
fi

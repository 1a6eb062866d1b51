# Runs containerd, and dockerd on it, in new namespaces until standard input ends: their processes, mounts and groups end
# with it. `$1` is an empty directory, `$2` the name of the group for all containers, `$3` `docker` or nothing, `$4` on v2 alone a
# new group of the machine that these namespaces take for the root, and otherwise nothing.
set -eu
ground=$1 group=$2 root=$4

# A group of v2 that has processes can hand no controllers down, so what starts the namespaces waits in a leaf.
case ${STAGE-first} in
  first)
    if [ -n "$root" ]; then echo $$ > "$root/cgroup.procs"; fi
    STAGE=leaf exec unshare --cgroup bash "$0" "$@"
    ;;
  leaf)
    if [ -n "$root" ]; then
      mkdir "$root/$group-ground"
      echo $$ > "$root/$group-ground/cgroup.procs"
    fi
    STAGE=inside exec unshare --mount --net --pid --ipc --fork --kill-child --mount-proc bash "$0" "$@"
    ;;
esac
mount --make-rprivate /

# The runtimes write into these directories of the machine.
mkdir "$ground/etc" "$ground/etc/docker"
for file in group hosts ld.so.cache nsswitch.conf passwd resolv.conf; do
  if [ -e "/etc/$file" ]; then cp "/etc/$file" "$ground/etc"; fi
done
mount --bind "$ground/etc" /etc
mkdir -p /run/containerd
mount -t tmpfs none /run/containerd

# Mounts of this cgroup namespace: the groups of this process are the roots.
mapfile -t mounts < /proc/self/mounts
points=()
for line in "${mounts[@]}"; do
  read -r _ point kind options _ <<< "$line"
  case $kind in
    cgroup)
      controllers=$(tr , '\n' <<< "$options" | grep -xE 'name=.*|cpu|cpuacct|cpuset|memory|devices|freezer|blkio|pids|net_cls|net_prio|perf_event|hugetlb|rdma|misc' | paste -sd,)
      case $controllers in name=*) controllers=none,$controllers ;; esac
      umount "$point"
      mount -t cgroup -o "$controllers" none "$point"
      ;;
    cgroup2)
      umount "$point"
      mount -t cgroup2 none "$point"
      if [ -n "$root" ]; then
        for controller in memory pids cpu; do echo "+$controller" > "$point/cgroup.subtree_control"; done
      fi
      ;;
    *) continue ;;
  esac
  points+=("$point")
done

# Whatever a container is allowed, no program takes more than this.
for point in "${points[@]}"; do
  mkdir "$point/$group"
  for limit in pids.max=600 memory.limit_in_bytes=2G memory.max=2G; do
    if [ -e "$point/$group/${limit%=*}" ]; then echo "${limit#*=}" > "$point/$group/${limit%=*}"; fi
  done
done

cat > "$ground/containerd.toml" << END
version = 2
root = "$ground/containerd"
state = "$ground/state"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]
[grpc]
address = "$ground/containerd.sock"
END
containerd --log-level error --config "$ground/containerd.toml" < /dev/null &
if [ "$3" = docker ]; then
  dockerd --log-level error --host "unix://$ground/docker.sock" --containerd "$ground/containerd.sock" \
    --data-root "$ground/docker" --exec-root "$ground/exec" --pidfile "$ground/docker.pid" --cgroup-parent "/$group" \
    --exec-opt native.cgroupdriver=cgroupfs --bridge none --iptables=false < /dev/null &
fi
cat > /dev/null

for point in "${points[@]}"; do find "$point/$group" -mindepth 1 -type d -printf 'left behind: %p\n'; done
# From the first process of a pid namespace this reaches all others in it.
kill -KILL -1
wait || true
for point in "${points[@]}"; do
  find "$point" -depth -type d -path "$point/$group*" ! -name "$group-ground" -exec rmdir {} +
done
echo the ground is empty

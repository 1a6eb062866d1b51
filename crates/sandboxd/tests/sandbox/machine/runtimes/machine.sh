#!/bin/bash
# Makes a Debian machine with systemd, cgroup v2 alone, AppArmor, docker and containerd, boots it in qemu without help from
# the processor, and runs tests of `machine` there:
#   bash machine.sh DIRECTORY MIRROR PROGRAM
# DIRECTORY keeps the machine for the next call, MIRROR is the address of a Debian mirror, and PROGRAM the tests' program
# that cargo built (target/.../deps/sandbox-...). It needs root, mmdebstrap, qemu-system-x86, e2fsprogs, and about ten minutes
# on two processors.
set -eu
directory=$1 mirror=$2 program=$(realpath "$3")
repository=$(realpath "$(dirname "$0")/../../../../../..")
daemon=$(dirname "$(dirname "$program")")/prl-sandboxd
mkdir -p "$directory"
cd "$directory"

if [ ! -e root/boot ]; then
  mmdebstrap --variant=minbase \
    --include=apparmor,containerd,docker-cli,docker.io,libgcc-s1,linux-image-cloud-amd64,mount,python3,runc,systemd-sysv,util-linux \
    trixie root "deb $mirror trixie main"
fi
rm -f root/etc/systemd/system/*.wants/{containerd,docker}.*
cat > root/etc/systemd/system/tests.service << 'END'
[Unit]
After=apparmor.service
[Service]
Type=oneshot
Delegate=yes
ExecStart=/bin/bash /payload/run
StandardOutput=file:/dev/ttyS0
StandardError=inherit
ExecStopPost=systemctl poweroff --force
END
ln -sf ../tests.service root/etc/systemd/system/multi-user.target.wants/tests.service
# It would take the console from the tests.
ln -sf /dev/null root/etc/systemd/system/serial-getty@ttyS0.service
mkdir -p root/payload
echo "/dev/vdb /payload ext4 ro 0 0" > root/etc/fstab

# Tests and daemon find files of the checkout by the paths that were compiled into them.
rm -rf payload
mkdir payload
cat > payload/run << END
set -eu
cp -a /payload/files/. /
export PATH=/usr/sbin:/usr/bin:/sbin:/bin PRL_TEST_SLOWNESS=6 PRL_TEST_V2_CONTROLLERS=memory,pids,cpu,weight
echo "+memory +pids +cpu" > /sys/fs/cgroup/cgroup.subtree_control
uname -r; docker --version; containerd --version; runc --version | head -1
aa-enabled; cat /sys/fs/cgroup/cgroup.controllers; grep cgroup /proc/mounts
status=0
$program --test-threads 1 --nocapture machine::runtimes || status=\$?
$program --test-threads 1 --nocapture cgroup_v2::limits cgroup_v2::groups_of || status=\$?
echo "ended with \$status"
END
for path in "$program" "$daemon" "$repository"/{configs/deploy/container,crates/sandboxd/tests/sandbox/machine/runtimes}; do
  mkdir -p "payload/files$(dirname "$path")"
  cp -a "$path" "payload/files$path"
done

for disk in root:3G payload:512M; do
  rm -f "${disk%:*}.img"
  mke2fs -q -t ext4 -d "${disk%:*}" "${disk%:*}.img" "${disk#*:}"
done
timeout 3000 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -m 3072 -smp 2 -nodefaults -no-reboot -display none -serial stdio \
  -kernel root/boot/vmlinuz-* -initrd root/boot/initrd.img-* -append "root=/dev/vda rw console=ttyS0 quiet systemd.show_status=0" \
  -drive file=root.img,format=raw,if=virtio,cache=unsafe -drive file=payload.img,format=raw,if=virtio,cache=unsafe \
  < /dev/null | tee log
grep -q "ended with 0" log

/** What is asked, in four wordings. */
import type { Cleanup } from "./policy.ts";

type Wording = (one: Cleanup) => string;

const orders: Wording = (one) =>
  `The disk below ${one.root}/ has to give back at least ${one.free} bytes. Today is ${one.today}, 00:00 UTC; the age of a file is the number of whole days since its last change.

Rules are in files named ${one.policyName}. For a file counts the one in its folder, or else in the nearest folder above; policies of different folders are never combined. Lines that begin with # decide nothing.
- young_days: a file that is fewer days old is protected.
- never: files with these endings are protected.
- drop, drop_days: a name with one of these endings has to be deleted once the file is at least so many days old, unless it is protected.

Also protected: what ${one.keepList} lists (a path that ends in / stands for all files below it; a symbolic link stands for the file that it leads to), and what ${one.openList} lists, because it is open. Paths in both are relative to ${one.root}/. A file with several names (hard links) is protected under all of them as soon as one is protected.

Delete every name that has to go, nothing that is protected, and of the remaining names at most ${one.most}, so that enough is freed. A file is freed only when its last name is gone. Policies, symbolic links and everything outside of ${one.root}/ stay as they are.`;

const list: Wording = (one) =>
  `Clean up ${one.root}/ as its policy demands.

1. Each folder may have a policy, ${one.policyName}; the nearest one at or above a file is the only one that holds for it (comments start with #).
2. Do not delete: files younger than young_days; endings in never; entries of ${one.keepList}; entries of ${one.openList} (programs have them open). An entry of a list is a path below ${one.root}/; with a / at its end it means the whole folder, and where it is a symbolic link it means the link's target.
3. Hard links: if one name of a file may not be deleted, none of its names may. Bytes are given back with the last name only.
4. Must be deleted: names with an ending in drop whose file is drop_days old or older, if 2 and 3 allow it.
5. May be deleted: any other name, but no more than ${one.most} of them.
6. Never touch symbolic links, the policies, or what lies beside ${one.root}/. Do not change or move files.

Ages are whole days before ${one.today} 00:00 UTC, by the time of the last change. In the end at least ${one.free} bytes have to be free that were in use.`;

const story: Wording = (one) =>
  `We are short of space: ${one.free} bytes or more must go from ${one.root}/, and the auditors look at every file afterwards. What the auditors want: each file follows the ${one.policyName} that is nearest above it and no other one. There, "drop" names the endings that have to disappear when a file has reached "drop_days"; "never" names endings that stay; and a file that has not reached "young_days" stays as well. Two lists overrule that: ${one.keepList} (kept by order) and ${one.openList} (open at the moment), with paths as seen from ${one.root}/; a folder is written with a slash at its end, and a symbolic link in the list speaks for its target. If any name of a hard-linked file has to stay, all of its names stay.

What no rule keeps and no rule drops is up to you, but only ${one.most} such names may be deleted, so choose those that give back the most; a file with another name left gives back nothing. Count ages in whole days up to ${one.today}, midnight UTC. Text behind # in policies is chatter. Leave symbolic links, policies and other folders alone.`;

const terse: Wording = (one) =>
  `Task: delete files below ${one.root}/ (regular files only; no symbolic link, no ${one.policyName}, nothing outside).
Date for ages: ${one.today}T00:00:00Z minus mtime, in whole days.
Policy of a file: ${one.policyName} of the nearest folder upwards, exclusively; "#" lines are ignored.
Protected: age < young_days | ending in "never" | in ${one.keepList} | in ${one.openList} | shares its inode with a protected name. Lists: paths below ${one.root}/; "x/" = everything under x; symbolic link = its target.
Required deletions: ending in "drop" and age >= drop_days and not protected; all of them.
Optional deletions: other names that are not protected, ${one.most} at most.
Freed bytes (an inode counts when no name is left): at least ${one.free}.
One protected file that is deleted, moved or changed spoils everything.`;

export const WORDINGS: readonly Wording[] = [orders, list, story, terse];

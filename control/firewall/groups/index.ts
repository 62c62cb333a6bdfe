/** Firewall groups: rules and filters that an organisation puts on many addresses at once. */
export { listGroups, type GroupView } from './read.ts';
export { previewGroup, type SavedGroup, saveGroup, type WantedGroup } from './save.ts';
export {
  assignGroups,
  createGroups,
  deleteGroup,
  editGroup,
  GroupConflict,
} from './service.ts';

/** Firewall groups: rules and filters that an organisation puts on many addresses at once. */
export { marksAsJson } from '../mark-columns.ts';
export { type GroupView, listGroups, type StoredMarks, withDates } from './read.ts';
export { previewGroup, type SavedGroup, saveGroup, type WantedGroup } from './save.ts';
export {
  assignGroups,
  createGroups,
  deleteGroup,
  deleteGroups,
  editGroups,
  GroupConflict,
  type PlacedEdit,
} from './service.ts';

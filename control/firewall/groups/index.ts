/** Firewall groups: rules and filters that an organisation puts on many addresses at once. */
export {
  describeRule,
  expandRule,
  type FilterContent,
  filterKey,
  type RuleContent,
  ruleKey,
} from './content.ts';
export {
  assignGroups,
  createGroups,
  deleteGroup,
  editGroup,
  GroupConflict,
} from './service.ts';

/* For which instruction set is this compiled?
 *
 * Everything that runs in a step is compiled once for each instruction set, from the same source; the build defines
 * DRV_ISA. These names then end in it, so that all the copies live in one library, and kernels.c picks one. The results
 * are the same bytes: no contraction, no reordering, and every selection has a total order. */
#ifndef DRV_ISA_H
#define DRV_ISA_H

#ifndef DRV_ISA
#define DRV_ISA baseline
#endif

#define DRV_PASTE(name, isa) name##_##isa
#define DRV_PASTE_EXPANDED(name, isa) DRV_PASTE(name, isa)
#define DRV_OF_ISA(name) DRV_PASTE_EXPANDED(name, DRV_ISA)
#define DRV_TEXT(isa) #isa
#define DRV_TEXT_EXPANDED(isa) DRV_TEXT(isa)
#define DRV_ISA_TEXT DRV_TEXT_EXPANDED(DRV_ISA)

#define drv_kernels_here DRV_OF_ISA(drv_kernels)
#define drv_trial_restart DRV_OF_ISA(drv_trial_restart)
#define drv_trial_rewind DRV_OF_ISA(drv_trial_rewind)
#define drv_trial_open_episode DRV_OF_ISA(drv_trial_open_episode)
#define drv_trial_next_scene DRV_OF_ISA(drv_trial_next_scene)
#define drv_trial_judge DRV_OF_ISA(drv_trial_judge)
#define drv_actions_fit DRV_OF_ISA(drv_actions_fit)
#define drv_actions_check DRV_OF_ISA(drv_actions_check)
#define drv_actions_control DRV_OF_ISA(drv_actions_control)
#define drv_traffic_begin DRV_OF_ISA(drv_traffic_begin)
#define drv_traffic_plan DRV_OF_ISA(drv_traffic_plan)
#define drv_dynamics_integrate DRV_OF_ISA(drv_dynamics_integrate)
#define drv_bicycle_advance DRV_OF_ISA(drv_bicycle_advance)
#define drv_bicycle_yaw_rate DRV_OF_ISA(drv_bicycle_yaw_rate)
#define drv_discrete_control DRV_OF_ISA(drv_discrete_control)
#define drv_events_begin DRV_OF_ISA(drv_events_begin)
#define drv_events_detect DRV_OF_ISA(drv_events_detect)
#define drv_reward_score DRV_OF_ISA(drv_reward_score)
#define drv_metrics_add DRV_OF_ISA(drv_metrics_add)
#define drv_sweep_path_m DRV_OF_ISA(drv_sweep_path_m)
#define drv_separated_by_axes_of DRV_OF_ISA(drv_separated_by_axes_of)
#define drv_sweeps_overlap DRV_OF_ISA(drv_sweeps_overlap)
#define drv_edge_query_of DRV_OF_ISA(drv_edge_query_of)
#define drv_edge_broad_phase_bits DRV_OF_ISA(drv_edge_broad_phase_bits)
#define drv_sweep_overlaps_edge DRV_OF_ISA(drv_sweep_overlaps_edge)
#define drv_box_overlaps_edge DRV_OF_ISA(drv_box_overlaps_edge)
#define drv_on_map_list DRV_OF_ISA(drv_on_map_list)
#define drv_observe_agents DRV_OF_ISA(drv_observe_agents)
#define drv_observe_write DRV_OF_ISA(drv_observe_write)
#define drv_step_world DRV_OF_ISA(drv_step_world)
#define drv_boxes_overlap DRV_OF_ISA(drv_boxes_overlap)
#define drv_swept_boxes_overlap DRV_OF_ISA(drv_swept_boxes_overlap)
#define drv_swept_box_overlaps_segment DRV_OF_ISA(drv_swept_box_overlaps_segment)
#define drv_squared_distance_to_path DRV_OF_ISA(drv_squared_distance_to_path)
#define drv_grid_cover DRV_OF_ISA(drv_grid_cover)
#define drv_grid_cell DRV_OF_ISA(drv_grid_cell)
#define drv_grid_covers DRV_OF_ISA(drv_grid_covers)
#define drv_grid_middle DRV_OF_ISA(drv_grid_middle)
#define drv_grid_window DRV_OF_ISA(drv_grid_window)
#define drv_grid_reach DRV_OF_ISA(drv_grid_reach)
#define drv_grid_measure_reach DRV_OF_ISA(drv_grid_measure_reach)
#define drv_k_nearest DRV_OF_ISA(drv_k_nearest)
#define drv_all_within DRV_OF_ISA(drv_all_within)
#define drv_select_rank DRV_OF_ISA(drv_select_rank)
#define drv_roads_locate DRV_OF_ISA(drv_roads_locate)
#define drv_roads_expect DRV_OF_ISA(drv_roads_expect)
#define drv_roads_choose DRV_OF_ISA(drv_roads_choose)

#endif
